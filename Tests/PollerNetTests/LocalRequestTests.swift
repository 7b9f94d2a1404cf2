import PollerNet
import Testing

@Suite("LocalRequest")
struct LocalRequestTests {
    @Test(
        "a request to a local name, with or without a port, is local",
        arguments: [
            "localhost", "LOCALHOST:8080", "127.0.0.1", "127.0.0.1:80", "127.9.9.9", "[::1]",
            "[::1]:8080",
        ]
    )
    func local(host: String) {
        #expect(LocalRequest.isLocal(hosts: [host], headers: ["Accept", "Authorization"]))
        #expect(!LocalRequest.isLocal(hosts: [host, "evil.example"], headers: []))
    }

    @Test(
        "a request to any other name is not local",
        arguments: [
            "", "evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "127.evil",
            "localhost:80@evil.example", "localhost@evil.example", "[::1", "[::1]x", "[::2]",
            "127.1", "0x7f.0.0.1", "2130706433", "192.0.2.1", "null", "localhost:8a",
        ]
    )
    func foreign(host: String) {
        #expect(!LocalRequest.isLocal(hosts: [host], headers: []))
    }

    @Test("a request without a host, or forwarded by a proxy, is not local")
    func passedOn() {
        #expect(!LocalRequest.isLocal(hosts: [], headers: []))
        for header in ["Via", "FORWARDED", "x-forwarded-for", "X-Forwarded-Port", "X-Real-Ip"] {
            #expect(!LocalRequest.isLocal(hosts: ["localhost"], headers: [header]), "\(header)")
        }
    }
}
