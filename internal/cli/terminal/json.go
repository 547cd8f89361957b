package terminal

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"time"
)

// apiTime is the API's format of times: always six digits, even if the last ones are 0.
const apiTime = `"2006-01-02T15:04:05.000000Z"`

// appendJSON appends v as encoding/json does, but with times in the API's format.
func appendJSON(b []byte, v reflect.Value) ([]byte, error) {
	if !v.IsValid() {
		return append(b, "null"...), nil
	}
	t, isTime := v.Interface().(time.Time)
	_, encodes := v.Interface().(json.Marshaler)
	switch kind := v.Kind(); {
	case isTime && t.IsZero():
		return append(b, "null"...), nil
	case isTime:
		return t.UTC().AppendFormat(b, apiTime), nil
	case kind == reflect.Pointer && !v.IsNil():
		return appendJSON(b, v.Elem())
	case kind == reflect.Slice && !v.IsNil() && !encodes && v.Type().Elem().Kind() == reflect.Struct:
		return appendItems(b, v)
	case kind == reflect.Struct && !encodes:
		b, err := appendFields(append(b, '{'), v)
		return append(b, '}'), err
	}
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	err := e.Encode(v.Interface())
	return append(b, bytes.TrimSuffix(text.Bytes(), []byte("\n"))...), err
}

func appendItems(b []byte, v reflect.Value) (_ []byte, err error) {
	b = append(b, '[')
	for i := range v.Len() {
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = appendJSON(b, v.Index(i)); err != nil {
			return b, err
		}
	}
	return append(b, ']'), nil
}

// appendFields appends the fields of a struct, including those of embedded structs.
func appendFields(b []byte, v reflect.Value) (_ []byte, err error) {
	for f, value := range v.Fields() {
		name, option, named := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			b, err = appendFields(b, value)
		case !f.IsExported() || name == "-" || named && option == "omitempty" && value.IsZero():
		default:
			if b[len(b)-1] != '{' {
				b = append(b, ',')
			}
			b, err = appendJSON(append(b, `"`+name+`":`...), value)
		}
		if err != nil {
			return b, err
		}
	}
	return b, nil
}
