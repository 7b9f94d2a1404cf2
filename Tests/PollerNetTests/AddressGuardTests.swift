import NIOCore
import PollerIdentity
import Testing

@testable import PollerNet

@Suite("AddressGuard")
struct AddressGuardTests {
    private func verdict(
        _ text: String,
        _ guarding: AddressGuard = AddressGuard()
    ) throws
        -> AddressGuard.Verdict
    {
        guarding.judge(try SocketAddress(ipAddress: text, port: 443))
    }

    @Test(
        "addresses outside the public internet are blocked",
        arguments: [
            "0.0.0.0", "10.1.2.3", "100.64.0.1", "127.0.0.1", "127.255.255.255",
            "169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.8", "192.0.2.1",
            "192.88.99.1", "192.168.0.1", "198.18.0.1", "198.51.100.1", "203.0.113.1",
            "224.0.0.1", "240.0.0.1", "255.255.255.255", "168.63.129.16", "::", "::1",
            "::7f00:1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1",
            "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "2002:7f00:1::", "2002:c0a8:1::1",
            "2001:0:7f00:1::1", "2001:0:4136:e378:8000:63bf:80ff:fffe", "100::1", "2001:2::1",
            "2001:10::1", "2001:20::1", "2001:db8::1", "3fff::1", "5f00::1", "fc00::1",
            "fd00:ec2::254", "fe80::1", "fec0::1", "ff02::1", "::ffff:0:127.0.0.1",
            "::ffff:0:10.0.0.1", "::ffff:0:1.1.1.1",
        ]
    )
    func blocks(address: String) throws {
        #expect(try verdict(address) == .blocked)
    }

    @Test(
        "addresses of the public internet are permitted",
        arguments: [
            "1.1.1.1", "93.184.216.34", "172.32.0.1", "172.15.255.255", "100.128.0.1",
            "192.0.1.1", "2606:4700::1111", "2a00:1450:4001::1", "64:ff9b::101:101",
            "2002:101:101::1",
        ]
    )
    func passes(address: String) throws {
        #expect(try verdict(address) == .open)
    }

    @Test(
        "a URL that can never be reached is rejected if its text shows it",
        arguments: [
            ("https://10.0.0.1/h", "", "POLLER_ALLOW_CIDRS"),
            ("https://10.0.0.1/h", "10.0.0.0/8", nil),
            ("https://[::1]:9/h", "127.0.0.0/8", "POLLER_ALLOW_CIDRS"),
            ("https://[::ffff:192.168.0.1]/", "", "POLLER_ALLOW_CIDRS"),
            ("https://localhost/h", "", "POLLER_ALLOW_CIDRS"),
            ("http://LOCALHOST:3000/h", "::1", nil),
            ("https://1.1.1.1/h", "", nil), ("http://1.1.1.1/h", "10.0.0.0/8", "https://"),
            ("http://shop.example/h", "", "https://"),
            ("http://shop.example/h", "10.0.0.0/8", nil),
            ("https://shop.example/h", "", nil), ("https://a%2eb/h", "", "plain name"),
            ("mailto:a@b.example", "", nil), ("redis+stream:orders", "", nil),
        ] as [(String, String, String?)]
    )
    func rejections(url: String, allowed: String, expected: String?) throws {
        let guarding = AddressGuard(allowing: try AddressRange.list(allowed))
        let reason = guarding.rejectionReason(for: try NotifyURL(url))
        #expect((reason == nil) == (expected == nil), "\(url): \(reason ?? "none")")
        #expect(reason?.contains(expected ?? "") ?? true, "\(url): \(reason ?? "")")
    }

    @Test("the operator's ranges are allowed, and only those")
    func allowList() throws {
        let guarding = AddressGuard(allowing: try AddressRange.list("10.1.0.0/16, ::1 127.0.0.1"))
        #expect(try verdict("10.1.255.1", guarding) == .allowed)
        #expect(try verdict("::ffff:10.1.0.1", guarding) == .allowed)
        #expect(try verdict("64:ff9b::a01:1", guarding) == .open)
        #expect(try verdict("10.2.0.1", guarding) == .blocked)
        #expect(try verdict("127.0.0.1", guarding) == .allowed)
        #expect(try verdict("127.0.0.2", guarding) == .blocked)
        #expect(try verdict("::1", guarding) == .allowed)
    }

    @Test("the process's listeners are blocked inside an allowed range, and through a translator")
    func ownListeners() throws {
        let own = OwnListeners()
        own.add(host: "127.0.0.1", port: 443)
        let guarding = AddressGuard(
            allowing: try AddressRange.list("127.0.0.0/8, 64:ff9b::/96, 2002::/16"),
            ownListeners: own
        )
        for way in ["127.0.0.1", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::"] {
            #expect(try verdict(way, guarding) == .blocked, "\(way)")
        }
        #expect(try verdict("127.0.0.2", guarding) == .allowed)
        let otherPort = try SocketAddress(ipAddress: "127.0.0.1", port: 444)
        #expect(guarding.judge(otherPort) == .allowed)
    }

    @Test(
        "an address behind a network's translator is judged, with every prefix length",
        arguments: [
            ("2001:db8::/32", "2001:db8:a00:1::", "2001:db8:101:101::"),
            ("2606:4700:6400::/40", "2606:4700:640a:0:1::", "2606:4700:6401:101:1::"),
            ("2606:4700:64::/48", "2606:4700:64:a00:0:100::", "2606:4700:64:101:1:100::"),
            ("2606:4700:64::/56", "2606:4700:64:a:0:1::", "2606:4700:64:1:1:101::"),
            ("2606:4700:64::/64", "2606:4700:64:0:a:0:100:0", "2606:4700:64:0:1:101:100:0"),
            ("64:ff9b:1::/96", "64:ff9b:1::a00:1", "64:ff9b:1::101:101"),
        ]
    )
    func translators(prefix: String, inner: String, outer: String) throws {
        let guarding = AddressGuard(translators: [try NAT64Prefix(prefix)])
        #expect(try verdict(inner, guarding) == .blocked)
        #expect(try verdict(outer, guarding) == .open)
        let allowing = AddressGuard(
            allowing: try AddressRange.list("10.0.0.0/8"),
            translators: [try NAT64Prefix(prefix)]
        )
        #expect(try verdict(inner, allowing) == .open)
    }

    @Test(
        "an invalid translator prefix is rejected",
        arguments: ["2001:db8::/33", "2001:db8::", "10.0.0.0/8", "::ffff:10.0.0.0/96", "x", ""]
    )
    func badTranslators(text: String) {
        #expect(throws: InvalidInput.self) { try NAT64Prefix(text) }
    }

    @Test(
        "an invalid range is rejected with a remedy",
        arguments: [
            "10.0.0.0/33", "10.0.0/8", "10.0.0.0/", "10.0.0.0/-1", "x", "::/129", "fe80::1%1",
        ]
    )
    func badRanges(text: String) {
        #expect(throws: InvalidInput.self) { try AddressRange.list(text) }
    }

    @Test("the system resolver resolves every spelling of loopback")
    func spellings() async throws {
        for host in ["127.1", "2130706433", "0x7f000001", "0177.0.0.1", "0x7f.1", "0", "localhost"]
        {
            let resolver = SystemResolver(clock: ContinuousClock())
            let addresses = try await resolver.addresses(host: host, port: 443)
            #expect(!addresses.isEmpty)
            for address in addresses { #expect(AddressGuard().judge(address) == .blocked) }
        }
    }
}

@Suite("OwnListeners")
struct OwnListenersTests {
    private let own: OwnListeners

    init() {
        // Interfaces of an imaginary machine.
        let interfaces = ["127.0.0.1", "10.1.2.3", "fd00::3", "::1"]
        own = OwnListeners { interfaces.compactMap { IPAddress($0) } }
    }

    private func contains(_ text: String, _ port: Int = 9090) throws -> Bool {
        own.contains(try #require(IPAddress(text)), port: port)
    }

    @Test("a listener at one address is blocked there and at unspecified addresses")
    func bound() throws {
        own.add(host: "127.0.0.1", port: 9090)
        #expect(try contains("127.0.0.1") && contains("0.0.0.0") && contains("::"))
        #expect(try !contains("127.0.0.2") && !contains("10.1.2.3") && !contains("::1"))
        #expect(try !contains("127.0.0.1", 9091))
    }

    @Test(
        "a listener at every address is blocked at each address of this machine, and no other",
        arguments: ["0.0.0.0", "::", "localhost"]
    )
    func everywhere(host: String) throws {
        own.add(host: host, port: 9090)
        for local in ["127.0.0.1", "127.9.9.9", "::1", "10.1.2.3", "::ffff:10.1.2.3", "fd00::3"] {
            #expect(try contains(local), "\(local)")
        }
        #expect(try !contains("10.1.2.4") && !contains("fd00::4"))
    }

    @Test("a remote store is blocked at its address, a local one at every local address")
    func store() throws {
        own.add(store: try SocketAddress(ipAddress: "10.9.9.9", port: 6379))
        #expect(try contains("10.9.9.9", 6379))
        #expect(try !contains("10.1.2.3", 6379))
        own.add(store: try SocketAddress(ipAddress: "10.1.2.3", port: 6380))
        #expect(try contains("127.0.0.1", 6380) && contains("fd00::3", 6380))
        #expect(try !contains("10.9.9.9", 6380))
        own.add(store: try SocketAddress(unixDomainSocketPath: "/run/redis.sock"))
    }

    @Test("the addresses of this machine's interfaces are found")
    func interfaces() throws {
        let loopback = try #require(IPAddress("127.0.0.1"))
        #expect(OwnListeners.interfaces().contains(loopback))
    }
}
