import Testing

@testable import PollerGateway

@Suite(
    "The WebSocket stack",
    .enabled(
        if: Autobahn.command != nil,
        "needs the Autobahn test suite: POLLER_AUTOBAHN_DIR, or Tests/Peers/install-autobahn"
    )
)
struct AutobahnTests {
    @Test("fails no case of Autobahn's groups 1 to 7, 9 and 10")
    func conformance() async throws {
        try await EchoServer.run { port in
            let groups = ["1.*", "2.*", "3.*", "4.*", "5.*", "6.*", "7.*", "9.*", "10.*"]
            let results = try await Autobahn.test(port: port, cases: groups)
            #expect(results.count > 240)
            let failed = results.filter(\.isFailed).map(\.id).sorted()
            #expect(failed.isEmpty, "failed: \(failed)")
        }
    }
}
