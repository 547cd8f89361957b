package server

import (
	gauges "runtime/metrics"
	"testing"
)

func TestCollectLess(t *testing.T) { // not parallel: GOGC is of the whole process
	gogc := []gauges.Sample{{Name: "/gc/gogc:percent"}}
	t.Setenv("GOGC", "100")
	gauges.Read(gogc)
	before := gogc[0].Value.Uint64()
	collectLess()
	if gauges.Read(gogc); gogc[0].Value.Uint64() != before {
		t.Errorf("GOGC is set, and became %d", gogc[0].Value.Uint64())
	}
	t.Setenv("GOGC", "")
	collectLess()
	if gauges.Read(gogc); gogc[0].Value.Uint64() != garbage {
		t.Errorf("%d, want %d", gogc[0].Value.Uint64(), garbage)
	}
}
