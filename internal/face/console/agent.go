package console

import (
	"regexp"
	"strings"
	"sync"
)

// browsers matches the browsers that people know by name, in the order to look for them: each names others too.
var browsers = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:(Edg|OPR|SamsungBrowser|Vivaldi|Firefox|FxiOS|CriOS|Chrome)\w*|(Version))/(\d+)`)
})

var browserNames = map[string]string{"Edg": "Edge", "OPR": "Opera", "SamsungBrowser": "Samsung Internet", "FxiOS": "Firefox", "CriOS": "Chrome", "Version": "Safari"}

// systems are the systems that browsers run on, in the order to look for them.
var systems = []struct{ in, name string }{
	{"Windows", "Windows"}, {"iPhone", "iPhone"}, {"iPad", "iPad"}, {"Android", "Android"}, {"CrOS", "ChromeOS"}, {"Mac OS X", "macOS"}, {"Linux", "Linux"},
}

// agent names a browser by its name, version and system. An unknown one is named as it names itself.
func agent(header string) string {
	name, version := "", ""
	for _, found := range browsers().FindAllStringSubmatch(header, -1) {
		if known := found[1] + found[2]; name == "" || known != "Version" && (name == "Chrome" || name == "Version") {
			name, version = known, found[3]
		}
	}
	if name == "" {
		return line(header)
	}
	if known := browserNames[name]; known != "" {
		name = known
	}
	for _, s := range systems {
		if strings.Contains(header, s.in) {
			return name + " " + version + " on " + s.name
		}
	}
	return name + " " + version
}
