package openapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"

	"go.yaml.in/yaml/v3"
)

// JSON turns a YAML document into indented JSON. Keys keep their order, which decoding into maps would lose, and
// aliases are expanded.
func JSON(document []byte) ([]byte, error) {
	var root yaml.Node
	if err := yaml.Unmarshal(document, &root); err != nil {
		return nil, fmt.Errorf("read the document: %w", err)
	}
	if err := checkWords(&root); err != nil {
		return nil, err
	}
	return indent(&root)
}

var switches = regexp.MustCompile(`^(?i:y|n|yes|no|on|off)$`)

// checkWords refuses plain words that are booleans in YAML 1.1. It also refuses <<, which some parsers merge and
// others, such as this one, treat as a key.
func checkWords(node *yaml.Node) error {
	if node.Tag == "!!merge" {
		return fmt.Errorf("line %d: write out what << would merge", node.Line)
	}
	if node.Kind == yaml.ScalarNode && node.Style == 0 && switches.MatchString(node.Value) {
		return fmt.Errorf("line %d: quote %s, which is true or false in YAML 1.1", node.Line, node.Value)
	}
	for _, child := range node.Content {
		if err := checkWords(child); err != nil {
			return err
		}
	}
	return nil
}

// indent returns node as indented JSON.
func indent(node *yaml.Node) ([]byte, error) {
	var flat, pretty bytes.Buffer
	if err := appendJSON(&flat, node); err != nil {
		return nil, err
	}
	if err := json.Indent(&pretty, flat.Bytes(), "", "  "); err != nil {
		return nil, err
	}
	return pretty.Bytes(), nil
}

func appendJSON(out *bytes.Buffer, node *yaml.Node) error {
	switch node.Kind {
	case yaml.DocumentNode:
		return appendJSON(out, node.Content[0])
	case yaml.AliasNode:
		return appendJSON(out, node.Alias)
	case yaml.MappingNode:
		return appendObject(out, node.Content)
	case yaml.SequenceNode:
		return appendArray(out, node.Content)
	default:
		var value any
		if err := node.Decode(&value); err != nil {
			return fmt.Errorf("line %d: %w", node.Line, err)
		}
		return appendValue(out, value)
	}
}

// appendObject writes an object given as alternating keys and values.
func appendObject(out *bytes.Buffer, members []*yaml.Node) error {
	out.WriteByte('{')
	for i := 0; i < len(members); i += 2 {
		if i > 0 {
			out.WriteByte(',')
		}
		if err := appendValue(out, members[i].Value); err != nil {
			return err
		}
		out.WriteByte(':')
		if err := appendJSON(out, members[i+1]); err != nil {
			return err
		}
	}
	out.WriteByte('}')
	return nil
}

func appendArray(out *bytes.Buffer, items []*yaml.Node) error {
	out.WriteByte('[')
	for i, item := range items {
		if i > 0 {
			out.WriteByte(',')
		}
		if err := appendJSON(out, item); err != nil {
			return err
		}
	}
	out.WriteByte(']')
	return nil
}

func appendValue(out *bytes.Buffer, value any) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}
