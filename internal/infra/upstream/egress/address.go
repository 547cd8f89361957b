package egress

import (
	"net/netip"
	"slices"
	"strings"

	"golang.org/x/net/idna"

	"foyer/internal/base/fault"
)

// special lists the addresses of the IANA special-purpose registries that do not lead to a public host. In IPv6 only
// 2000::/3 is public at all, so everything outside it (loopback, link-local, private, multicast, NAT64) needs no row of
// its own. The metadata services of clouds are in these ranges too, except the one of Azure's platform, see
// https://learn.microsoft.com/azure/virtual-network/what-is-ip-address-168-63-129-16.
var special = []struct {
	prefix netip.Prefix
	what   string
}{
	{netip.MustParsePrefix("0.0.0.0/8"), "unspecified"},
	{netip.MustParsePrefix("10.0.0.0/8"), "private"},
	{netip.MustParsePrefix("100.64.0.0/10"), "shared (carrier NAT)"},
	{netip.MustParsePrefix("127.0.0.0/8"), "loopback"},
	{netip.MustParsePrefix("168.63.129.16/32"), "the platform of Azure"},
	{netip.MustParsePrefix("169.254.0.0/16"), "link-local"},
	{netip.MustParsePrefix("172.16.0.0/12"), "private"},
	{netip.MustParsePrefix("192.0.0.0/24"), "reserved"},
	{netip.MustParsePrefix("192.0.2.0/24"), "documentation"},
	{netip.MustParsePrefix("192.88.99.0/24"), "6to4 relay"},
	{netip.MustParsePrefix("192.168.0.0/16"), "private"},
	{netip.MustParsePrefix("198.18.0.0/15"), "benchmark"},
	{netip.MustParsePrefix("198.51.100.0/24"), "documentation"},
	{netip.MustParsePrefix("203.0.113.0/24"), "documentation"},
	{netip.MustParsePrefix("224.0.0.0/4"), "multicast"},
	{netip.MustParsePrefix("240.0.0.0/4"), "reserved"},
	{netip.MustParsePrefix("2001::/23"), "reserved"}, // Teredo, benchmark, ORCHID
	{netip.MustParsePrefix("2001:db8::/32"), "documentation"},
	{netip.MustParsePrefix("3fff::/20"), "documentation"},
}

var (
	publicIPv6 = netip.MustParsePrefix("2000::/3")
	sixToFour  = netip.MustParsePrefix("2002::/16")
	nat64      = netip.MustParsePrefix("64:ff9b::/96")
)

// allowList holds the special addresses that urls may reach because the operator allows them, and the error text for all
// others.
type allowList struct {
	prefixes []netip.Prefix
	refusal  string
}

func (l allowList) names(addr netip.Addr) bool {
	return slices.ContainsFunc(l.prefixes, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// check returns a fault for an address that is neither public nor in l. An IPv6 address that contains an IPv4 address
// must pass two checks: l must contain the IPv6 or the IPv4 address, and the IPv4 address must be public or in l. So
// allowing 64:ff9b::/96 on a network with NAT64 does not allow 10.0.0.1.
func (l allowList) check(addr netip.Addr) error {
	addr = addr.WithZone("")
	if inner, ok := embedded(addr); ok {
		if !l.names(addr) && !l.names(inner) {
			return l.refused("an IPv4 address inside an IPv6 one")
		}
		return l.check(inner)
	}
	if l.names(addr) {
		return nil
	}
	if addr.Is6() && !publicIPv6.Contains(addr) {
		return l.refused("not public")
	}
	for _, s := range special {
		if s.prefix.Contains(addr) {
			return l.refused(s.what)
		}
	}
	return nil
}

// embedded returns the IPv4 address inside an IPv4-mapped, NAT64 or 6to4 address. Teredo addresses hide theirs behind an
// exclusive or, and are all refused.
func embedded(addr netip.Addr) (netip.Addr, bool) {
	b := addr.As16()
	switch {
	case addr.Is4In6():
		return addr.Unmap(), true
	case nat64.Contains(addr):
		return netip.AddrFrom4([4]byte(b[12:16])), true
	case sixToFour.Contains(addr):
		return netip.AddrFrom4([4]byte(b[2:6])), true
	}
	return netip.Addr{}, false
}

// checkHost checks the host of a url as written. The dialer checks the resolved address again; checkHost catches what
// resolving would hide: mapped addresses, which the resolver turns into plain IPv4, and numbers that some resolvers read
// as addresses (0x7f.1, 2130706433).
func (l allowList) checkHost(host string) error {
	if ascii, err := idna.Lookup.ToASCII(host); err == nil { // like net/http: 10。0。0。1 is an address
		host = ascii
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		return l.check(addr)
	}
	name := "." + strings.ToLower(strings.TrimSuffix(host, "."))
	if strings.HasSuffix(name, ".localhost") { // RFC 6761
		return l.check(netip.AddrFrom4([4]byte{127, 0, 0, 1}))
	}
	last := name[strings.LastIndexByte(name, '.')+1:]
	if strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x") {
		return fault.Field(fault.Invalid, "url", "The host must be a name or a complete address, not %q.", host)
	}
	return nil
}

func (l allowList) refused(what string) error {
	return fault.Field(fault.Invalid, "url", l.refusal, what)
}
