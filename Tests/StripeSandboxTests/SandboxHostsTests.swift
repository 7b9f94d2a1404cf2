import NIOHTTP1
import StripeAPI
import Testing

@testable import StripeSandbox

@Suite("Sandbox hosts")
struct SandboxHostsTests {
    private func serves(
        _ host: String,
        bind: String = "127.0.0.1",
        publicURL: String? = nil,
        allowed: [String] = []
    ) -> Bool {
        SandboxHosts(bind: bind, publicURL: publicURL, allowed: allowed).serves(host)
    }

    @Test(
        "the names of this machine are always served",
        arguments: [
            "localhost", "LOCALHOST:12111", "127.0.0.1:12111", "127.9.9.9", "[::1]:1",
            "shop.localhost:12111",
        ]
    )
    func local(host: String) {
        #expect(serves(host))
        #expect(serves(host, bind: "0.0.0.0"))
    }

    @Test(
        "names of private networks are served by a public sandbox",
        arguments: [
            "sandbox:12111", "sandbox.demo.svc:12111", "sandbox.demo.svc.cluster.local.",
            "host.docker.internal:12111", "172.18.0.4:12111", "[fd00::4]:12111",
        ]
    )
    func network(host: String) {
        #expect(!serves(host))
        #expect(serves(host, bind: "0.0.0.0"))
    }

    @Test(
        "a name of the public DNS is rejected",
        arguments: [
            "evil.example", "evil.example:12111", "127.0.0.1.evil.example",
            "localhost.evil.example",
            "evil.internal.example", "", ":12111", "[::1", "localhost:80@evil.example",
        ]
    )
    func foreign(host: String) {
        #expect(!serves(host))
        #expect(!serves(host, bind: "0.0.0.0"))
    }

    @Test("hosts named by options are served")
    func named() {
        #expect(serves("sandbox.shop.example:1", allowed: ["Sandbox.shop.example"]))
        #expect(serves("pay.shop.example", publicURL: "https://pay.shop.example/x"))
        #expect(serves("box.shop.example", bind: "box.shop.example"))
    }

    @Test("a request for a foreign host gets no response of the API, the pages or the controls")
    func requests() async throws {
        try await SandboxProbe.run { probe in
            let id = try await probe.makeSource().id
            for path in ["/v1/sources/\(id)", "/redirect/\(id)", "/_sandbox/history"] {
                let headers = [("Host", "evil.example"), ("Authorization", "Bearer sk_test_1")]
                let answer = try await probe.send(.GET, path, headers: .init(headers))
                #expect(answer.status == 403, "\(path)")
                #expect(
                    try await probe.send(.GET, path, headers: .init([headers[1]])).status == 200
                )
            }
        }
    }
}
