import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import Poller
import PollerIdentity
import PollerPayments
import PollerTesting
import PollerWatches
import Synchronization
import Testing

@testable import PollerAPI

/// An upstream with a scripted response to each account.
private final class ScriptedAccounts: PayerUpstream {
    private let state = Mutex((answer: RefundAccountResult.taken, given: [RefundAccount]()))

    /// The submitted accounts.
    var given: [RefundAccount] { state.withLock { $0.given } }

    func answer(_ answer: RefundAccountResult) { state.withLock { $0.answer = answer } }

    func verify(
        _ watch: Watch,
        with values: VerificationValues,
        timeout: Duration
    ) async -> VerificationResult { .notRequired }

    func submit(
        _ account: RefundAccount,
        for watch: Watch,
        paidBy method: PaymentMethod,
        timeout: Duration
    ) async -> RefundAccountResult {
        state.withLock { state in
            state.given.append(account)
            return state.answer
        }
    }
}

@Suite("Refund accounts from payers")
struct RefundAccountRoutesTests {
    private static let secret = "src_1_secret_abc"
    private static let iban = "DE89370400440532013000"
    private static let api = "/v1/watches/src_1/refund_attributes"

    /// Runs `body` with a closed watch whose refund is waiting for an account.
    private func run(
        paidBy method: String = "multibanco",
        _ step: NextStep = .giveRefundAccount(url: "https://pay.example/r/src_1/continue?grant=x"),
        _ body: (LiveAPI, ScriptedAccounts) async throws -> Void
    ) async throws {
        let payers = ScriptedAccounts()
        try await LiveAPI.run(payers: payers) { api in
            let new = try NewWatch(
                key: WatchKey(account: .main, source: SourceID("src_1"), kind: .source),
                clientSecret: ClientSecret(Self.secret)
            )
            _ = try await api.store.enqueue([new])
            try await api.see(
                "src_1",
                "canceled",
                final: true,
                method: method,
                payment: .expired,
                step: step
            )
            try await body(api, payers)
        }
    }

    /// Follows the link in an email and returns the cookie.
    private func cookie(_ api: LiveAPI) async throws -> String {
        let key = WatchKey(account: .main, source: try SourceID("src_1"), kind: .source)
        let grant = try #require(ClientSecret(Self.secret).grant(of: key))
        var configuration = HTTPClient.Configuration()
        configuration.redirectConfiguration = .disallow
        return try await HTTPClient.withHTTPClient(configuration: configuration) { http in
            let answer = try await http.execute(
                HTTPClientRequest(url: api.url + "/r/src_1/continue?grant=\(grant)"),
                timeout: .seconds(20)
            )
            #expect(answer.headers.first(name: "Location") == "/r/src_1")
            let cookie = try #require(answer.headers.first(name: "Set-Cookie"))
            return String(cookie.prefix { $0 != ";" })
        }
    }

    private func type(_ api: LiveAPI, _ body: String, _ cookie: String) async throws -> Answer {
        try await api.request(
            .POST,
            "/r/src_1/refund_account",
            body: body,
            headers: ["Cookie": cookie, "Content-Type": "application/x-www-form-urlencoded"]
        )
    }

    @Test("the page has a form after the watch is closed, and confirms the account at once")
    func page() async throws {
        try await run { api, payers in
            let cookie = try await cookie(api)
            let page = try await api.request(.GET, "/r/src_1", headers: ["Cookie": cookie])
            #expect(page.text.contains("action=\"/r/src_1/refund_account\""), "\(page.text)")
            #expect(page.text.contains("Where should we send your money?"))
            #expect(!page.text.contains("id=\"links\""), "the way here is not shown here")
            let taken = try await type(
                api,
                "holder=Zo%C3%AB+Rosen&iban=de89+3704+0044+0532+0130+00",
                cookie
            )
            #expect(taken.status == 200 && !taken.text.contains("<form"))
            #expect(taken.text.contains("send your money to this account"))
            let wanted = try RefundAccount(holder: "Zoë Rosen", identifier: .iban(Self.iban))
            #expect(payers.given == [wanted])
        }
    }

    @Test("invalid input is shown again, escaped, and does not reach the upstream")
    func slip() async throws {
        try await run { api, payers in
            let cookie = try await cookie(api)
            for (body, words) in [
                ("holder=%22%3E%3Cb%3E&iban=DE88370400440532013000", "not a valid IBAN"),
                ("holder=+&iban=\(Self.iban)", "name on the account"), ("", "name on the account"),
            ] {
                let page = try await type(api, body, cookie)
                #expect(page.status == 200 && page.text.contains(words), "\(page.text)")
                #expect(page.text.contains("<form") && !page.text.contains("<b>"))
            }
            let page = try await type(api, "holder=A%22B&iban=DE88", cookie)
            #expect(
                page.text.contains("value=\"A&quot;B\"") && page.text.contains("value=\"DE88\"")
            )
            #expect(payers.given.isEmpty)
        }
    }

    @Test("a US account has its own fields")
    func american() async throws {
        try await run(paidBy: "ach_credit_transfer") { api, payers in
            let cookie = try await cookie(api)
            let page = try await api.request(.GET, "/r/src_1", headers: ["Cookie": cookie])
            #expect(page.text.contains("name=\"routing_number\"") && !page.text.contains("iban"))
            let body = "holder=A&routing_number=110000000&account_number=000-123 456&company=1"
            _ = try await type(api, body.replacing(" ", with: "+"), cookie)
            let identifier = RefundAccount.Identifier.american(
                routing: "110000000",
                number: "000123456",
                isBusiness: true
            )
            #expect(try payers.given == [RefundAccount(holder: "A", identifier: identifier)])
        }
    }

    @Test("the form is kept if the upstream rejects the account or does not respond")
    func refused() async throws {
        for (result, words) in [
            (RefundAccountResult.refused("invalid_iban"), "We cannot use this account"),
            (.unknown("down"), "We have not been able to save your account details yet"),
        ] {
            try await run { api, payers in
                payers.answer(result)
                let page = try await type(api, "holder=A&iban=\(Self.iban)", cookie(api))
                #expect(page.status == 200 && page.text.contains(words), "\(page.text)")
                #expect(page.text.contains("<form") && page.text.contains(Self.iban))
                #expect(payers.given.count == 1)
            }
        }
    }

    @Test("an accepted account is reported and audited even if the hint is not stored")
    func unstoredHint() async throws {
        try await run { api, payers in
            api.plan.fail(.other, [.refused])
            let body = #"{"holder":"A","iban":"GB82WEST12345698765432"}"#
            let taken = try await api.post(Self.api, body)
            #expect(taken.status == 202 && payers.given.count == 1, "\(taken.text)")
            #expect(api.plan.failures == 1)
            let entries = try await api.get("/v1/audit").list("data")
            #expect(entries.map { $0["action"] as? String } == ["giveRefundAccount"])
        }
        try await run { api, _ in
            let cookie = try await cookie(api)
            // The note that the customer submitted an account is stored after the hint.
            api.plan.fail(.other, [.refused])
            let page = try await type(api, "holder=A&iban=\(Self.iban)", cookie)
            #expect(page.status == 200, "\(page.text)")
            #expect(page.text.contains("send your money to this account"))
            #expect(api.plan.failures == 1)
        }
    }

    @Test("an account without the payment's cookie is rejected")
    func safe() async throws {
        try await run { api, payers in
            for cookie in ["", "return-src_1=AAAA"] {
                let page = try await type(api, "holder=A&iban=\(Self.iban)", cookie)
                #expect(page.status == 404 && !page.text.contains("<form"))
            }
            #expect(payers.given.isEmpty)
        }
    }

    @Test("a payment without a refund step, or with another payment method, has no form")
    func none() async throws {
        for (method, step) in [
            ("multibanco", NextStep.none), ("ideal", .giveRefundAccount(url: nil)),
        ] {
            try await run(paidBy: method, step) { api, payers in
                let cookie = try await cookie(api)
                let page = try await api.request(.GET, "/r/src_1", headers: ["Cookie": cookie])
                #expect(!page.text.contains("<form") && !page.text.contains("id=\"links\""))
                if step != .none { #expect(page.text.contains("Please give the shop")) }
                #expect(payers.given.isEmpty)
            }
        }
    }

    @Test("a service submits a valid account, and errors do not repeat the account number")
    func service() async throws {
        try await run { api, payers in
            for body in [
                #"{"holder":"A"}"#, #"{"iban":"GB82WEST12345698765432"}"#,
                #"{"holder":"A","iban":"GB83WEST12345698765432"}"#,
                #"{"holder":"A","iban":"GB82WEST12345698765432","account_number":"0001"}"#,
                #"{"holder":"A","account_number":"12","routing_number":"110000000"}"#,
                #"{"holder":"A","account_number":"1234","routing_number":"110000000","holder_type":"x"}"#,
            ] {
                let answer = try await api.post(Self.api, body)
                #expect((400...422).contains(answer.status), "\(body): \(answer.text)")
                #expect(!answer.text.contains("WEST1234"), "\(answer.text)")
            }
            #expect(payers.given.isEmpty)
            let body = #"{"holder":"A","iban":"GB82WEST12345698765432"}"#
            let taken = try await api.post(Self.api, body)
            #expect(taken.status == 202 && payers.given.count == 1, "\(taken.text)")
            let unknown = try await api.post("/v1/watches/src_9/refund_attributes", body)
            #expect(unknown.status == 404 && unknown.code == "watch_not_found")
        }
    }
}
