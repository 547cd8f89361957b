package openapi_test

import (
	"strings"
	"testing"

	"foyer/internal/face/openapi"
)

func TestJSONKeepsWhatWasWritten(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ yaml, want string }{
		"order":    {"b: 1\na: 2", `{"b":1,"a":2}`},
		"alias":    {"a: &x {k: [1, 2]}\nb: *x", `{"a":{"k":[1,2]},"b":{"k":[1,2]}}`},
		"key":      {"200: {}", `{"200":{}}`},
		"scalars":  {"[a, 'null', null, true, 1.5, '<&>']", `["a","null",null,true,1.5,"<&>"]`},
		"nothing":  {"{a: [], b: {}}", `{"a":[],"b":{}}`},
		"unicode":  {"a: foy_…", `{"a":"foy_…"}`},
		"new line": {"a: |\n  one\n  two\n", `{"a":"one\ntwo\n"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := openapi.JSON([]byte(test.yaml))
			if err != nil {
				t.Fatal(err)
			}
			if flat := strings.NewReplacer(" ", "", "\n", "").Replace(string(got)); flat != test.want {
				t.Errorf("got %s, want %s", flat, test.want)
			}
		})
	}
}

// Many parsers read YAML 1.1, in which these words are true and false. Not all of them support <<.
func TestSwitchesAreQuoted(t *testing.T) {
	t.Parallel()
	for _, yaml := range []string{"Off: 1", "a: {off: 1}", "[a, y]", "a: NO", "a: &x {b: 1}\nc: {<<: *x}"} {
		if got, err := openapi.JSON([]byte(yaml)); err == nil {
			t.Errorf("%s: %s", yaml, got)
		}
	}
	if _, err := openapi.JSON([]byte("'Off': \"no\"\nb: |-\n  on\n")); err != nil {
		t.Error(err)
	}
}

func TestBrokenDocuments(t *testing.T) {
	t.Parallel()
	const path = "tags: [{name: A}]\npaths: {/a: {get: {tags: [A], operationId: a, "
	for name, yaml := range map[string]string{
		"not YAML":          "a: [",
		"unknown answer":    path + "responses: {'200': {$ref: '#/components/responses/A'}}}}}",
		"unknown body":      path + "requestBody: {$ref: '#/components/requestBodies/A'}}}}",
		"unknown parameter": path + "parameters: [{$ref: '#/components/parameters/A'}]}}}",
		"unknown schema":    "components: {schemas: {A: {properties: {b: {$ref: '#/components/schemas/B'}}}}}",
		"no sample in Go":   path + "security: [{apiKey: ['x']}], responses: {}}}}",
		"sample in Go":      path + "x-samples: {go: 'err = )'}, responses: {}}}}",
		"unknown choice":    "components: {schemas: {A: {properties: {b: {oneOf: [{type: 'null'}, {$ref: '#/components/schemas/B'}]}}}}}",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if page, err := openapi.Page([]byte(yaml)); err == nil {
				t.Errorf("made a page of %d bytes", len(page))
			}
		})
	}
}

func TestPage(t *testing.T) {
	t.Parallel()
	page, err := openapi.Page([]byte(`
info:
  title: Pets
  description: |
    Has **two** kinds, ` + "`<cat>`" + ` and *dog*.

    ## Rules

    - one
    - two
tags: [{name: Pets}]
paths:
  /pets:
    post:
      tags: [Pets]
      operationId: createPet
      summary: Create a pet
      security: [{apiKey: ['pet:write']}]
      x-samples: {go: 'err = c.CreatePet(ctx, "Rex")'}
      requestBody: {$ref: '#/components/requestBodies/Pet'}
      responses: {'200': {$ref: '#/components/responses/Pets'}}
  /shops/{shop}/{pet_uuid}:
    parameters: [{$ref: '#/components/parameters/Shop'}]
    get:
      tags: [Pets]
      operationId: buyPet
      parameters: [{name: pet_uuid, in: path, example: rex}, {name: shop, in: query, required: true, example: a b}]
      x-samples: {foyer: pet buy rex, go: 'pet, _, err := c.Buy(ctx, "rex")'}
      responses: {'200': {$ref: '#/components/responses/Pets'}}
components:
  parameters:
    Shop: {name: shop, in: path, example: 42}
  requestBodies:
    Pet:
      content:
        application/json:
          schema: {$ref: '#/components/schemas/Pet'}
          examples: {rex: {value: {name: "Rex's"}}}
  responses:
    Pets:
      description: All of them.
      content:
        application/json:
          schema: {type: array, items: {$ref: '#/components/schemas/Pet'}}
  schemas:
    Pet:
      required: [name]
      properties:
        name: {type: [string, 'null'], maxLength: 20, description: What it listens to.}
        kind: {enum: [cat, dog, '', null], default: cat}
        owner: {oneOf: [{$ref: '#/components/schemas/Pet'}, {type: 'null'}]}
        size: {oneOf: [{type: integer, enum: [1, 2]}, {$ref: '#/components/schemas/Size'}]}
        tricks: {oneOf: [{type: object}, {type: array, items: {}}, {type: 'null'}]}
    Size: {type: string, enum: ['1', '2', small, large]}
`))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`<strong>two</strong> kinds, <code>&lt;cat&gt;</code> and <em>dog</em>.`,
		`<h2 id="rules">Rules</h2><ul><li>one</li><li>two</li></ul>`,
		`<article class="operation" id="createPet">`,
		"{part pets}\n", `<li><a href="{root}/docs/reference/pets{in}#createPet">Create a pet</a></li>`,
		`Scope <code>pet:write</code>`,
		`<code>name</code> <span class="required">required</span>`,
		`string or null, up to 20 characters`,
		`one of cat, dog, default cat`,
		`>one of 1, 2, small, large<`,
		`object, list or null`,
		`<a href="{root}/docs/reference/objects{in}#Pet">Pet</a> or null`,
		`list of <a href="{root}/docs/reference/objects{in}#Pet">Pet</a>`,
		`&#34;name&#34;: &#34;Rex&#39;\&#39;&#39;s&#34;`,
		`<code>curl &#34;{base_url}/shops/42/rex?shop=a&#43;b&#34;</code>`,
		"<code>foyer pet buy rex \\\n  --url &#34;{base_url}&#34;</code>",
		"\tpet, _, err := c.Buy(ctx, &#34;rex&#34;)\n\tif err != nil {\n\t\tlog.Fatal(err)\n\t}\n\tfmt.Printf(&#34;%&#43;v\\n&#34;, pet)\n}</code>",
		`<code>const response = await fetch(&#34;{base_url}/shops/42/rex?shop=a&#43;b&#34;);`,
		`<p class="in foyer note">The command line has no command for this.</p>`,
		"os.Getenv(&#34;FOYER_KEY&#34;))\n\tif err != nil {\n\t\tlog.Fatal(err)\n\t}\n\terr = c.CreatePet(",
	} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page lacks %s", want)
		}
	}
}
