import StripeAPI
import Synchronization
import Testing

/// A live key is never sent unencrypted.
@Suite struct LiveKeyTests {
    @Test(
        "a live key is only sent over https",
        arguments: [
            ("sk_live_1", "http://127.0.0.1:12111", false), ("rk_live_1", "http://sandbox", false),
            ("sk_org_live_1", "HTTP://proxy", false), ("sk_live_1", "https://api.stripe.com", true),
            ("rk_live_1", "HTTPS://proxy", true), ("sk_test_1", "http://127.0.0.1:12111", true),
            ("pk_live_1", "http://127.0.0.1:12111", true),
        ]
    )
    func bases(key: String, base: String, isAllowed: Bool) {
        #expect(StripeKey(key).maySend(to: base) == isAllowed)
    }

    @Test("a client rejects the key before connecting, also after key or base URL changed")
    func client() async throws {
        try await ScriptedServer.withRunning(.bytes("", then: .silence)) { server in
            let live = StripeKey("sk_live_canary")
            var changed = StripeClientConfiguration(key: live)
            changed.baseURL = server.address
            var rekeyed = StripeClientConfiguration(
                key: StripeKey("sk_test_1"),
                baseURL: server.address
            )
            rekeyed.key = live
            let fresh = StripeClientConfiguration(key: live, baseURL: server.address)
            for configuration in [fresh, changed, rekeyed] {
                let error = await #expect(throws: StripeError.self) {
                    try await StripeClient(configuration: configuration).get("/v1/sources/src_1")
                }
                guard case .invalidRequest(let reason) = error else {
                    return fail("\(String(describing: error))")
                }
                #expect(reason.contains("live key") && !reason.contains("canary"))
            }
            #expect(server.requests.isEmpty)
        }
    }
}
