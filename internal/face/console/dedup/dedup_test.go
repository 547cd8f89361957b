package dedup

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"foyer/internal/base/cache"
)

// An answer is kept no longer than a double click takes.
func TestForms(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := New[int](nil)
		form, done := Name(), 0
		do := func(context.Context) (int, error) {
			done++
			return done, nil
		}
		for _, tc := range []struct {
			sender, form, content string
			want                  int
			after                 time.Duration
		}{
			{"ada", form, "a", 1, 0},
			{"ada", form, "a", 1, remembered - 1},
			{"eve", form, "a", 2, 0},
			{"ada", Name(), "a", 3, 0},
			{"ada", form, "b", 4, 0},
			{"ada", form, "a", 5, 0},
			{"ada", "", "a", 6, 0},
			{"ada", "", "a", 7, 0},
			{"eve", form, "a", 8, remembered},
			{"eve", form, "b", 9, remembered - time.Second},
			{"eve", form, "b", 9, 2 * time.Second},
		} {
			time.Sleep(tc.after)
			synctest.Wait()
			if got, err := f.Do(t.Context(), tc.sender, tc.form, tc.content, do); got != tc.want || err != nil {
				t.Errorf("%+v: %d, %v", tc, got, err)
			}
		}
		time.Sleep(remembered)
		synctest.Wait()
		for _, sender := range []string{"ada", "eve"} {
			if _, kept := f.answers.Get(sender+" "+form, cache.Unversioned); kept {
				t.Error("an answer is kept")
			}
		}
	})
}

// An answer that was evicted does not remove a newer answer of the same form when its time is over.
func TestNewerAnswerIsKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := New(func(int) int { return maxRemembered / 2 })
		form, done := Name(), 0
		do := func(form string) {
			t.Helper()
			if _, err := f.Do(t.Context(), "ada", form, "", func(context.Context) (int, error) { done++; return done, nil }); err != nil {
				t.Error(err)
			}
		}
		do(form)
		do(Name())
		time.Sleep(remembered / 2)
		do(form)
		if done != 3 {
			t.Fatalf("done %d times: the first answer is still there", done)
		}
		time.Sleep(remembered - time.Second)
		synctest.Wait()
		if do(form); done != 3 {
			t.Error("the newer answer is gone")
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if do(form); done != 4 {
			t.Error("it is kept for too long")
		}
	})
}

func TestFormsThatFailAreSentAgain(t *testing.T) {
	t.Parallel()
	f := New[int](nil)
	form := Name()
	refused := errors.New("refused")
	if _, err := f.Do(t.Context(), "ada", form, "", func(context.Context) (int, error) { return 0, refused }); !errors.Is(err, refused) {
		t.Error(err)
	}
	if got, err := f.Do(t.Context(), "ada", form, "", func(context.Context) (int, error) { return 1, nil }); got != 1 || err != nil {
		t.Error(got, err)
	}
}

// Only few large answers are remembered.
func TestFormsAreBoundedInBytes(t *testing.T) {
	t.Parallel()
	f := New(func(size int) int { return size })
	done := 0
	do := func(form string, size int) {
		t.Helper()
		if _, err := f.Do(t.Context(), "ada", form, "", func(context.Context) (int, error) { done++; return size, nil }); err != nil {
			t.Error(err)
		}
	}
	first, second, third, tooLarge := Name(), Name(), Name(), Name()
	for _, step := range []struct {
		form       string
		size, want int
	}{
		{first, maxRemembered / 3, 1},
		{second, maxRemembered / 3, 2},
		{tooLarge, maxRemembered, 3},
		{tooLarge, maxRemembered, 4},
		{first, maxRemembered / 3, 4},
		{third, maxRemembered / 3, 5},
		{second, maxRemembered / 3, 5},
		{first, maxRemembered / 3, 6},
	} {
		if do(step.form, step.size); done != step.want {
			t.Errorf("done %d times, want %d", done, step.want)
		}
	}
}
