import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import Poller
import PollerIdentity
import PollerPayments
import PollerQueue
import PollerTesting
import PollerWatches
import Synchronization
import Testing

@testable import PollerAPI

/// An upstream with a scripted response to each code.
private final class ScriptedPayers: PayerUpstream {
    private let state = Mutex((answer: VerificationResult.accepted, submitted: [[String]]()))

    var submitted: [[String]] { state.withLock { $0.submitted } }

    func answer(_ answer: VerificationResult) { state.withLock { $0.answer = answer } }

    func verify(
        _ watch: Watch,
        with values: VerificationValues,
        timeout: Duration
    ) async -> VerificationResult {
        state.withLock { state in
            state.submitted.append(values.texts)
            return state.answer
        }
    }
}

extension ScriptedPayers {
    func submit(
        _ account: RefundAccount,
        for watch: Watch,
        paidBy method: PaymentMethod,
        timeout: Duration
    ) async -> RefundAccountResult { .notRequired }
}

@Suite("Verification by payers")
struct PayerRoutesTests {
    private static let secret = "src_1_secret_abc"
    private static let form = "application/x-www-form-urlencoded"

    /// Runs `body` with watches that wait for a code or for amounts.
    private func run(
        _ step: NextStep = .enterCode(attemptsLeft: 3),
        _ body: (LiveAPI, ScriptedPayers) async throws -> Void
    ) async throws {
        let payers = ScriptedPayers()
        try await LiveAPI.run(payers: payers) { api in
            let new = try NewWatch(
                key: WatchKey(account: .main, source: SourceID("src_1"), kind: .source),
                clientSecret: ClientSecret(Self.secret)
            )
            _ = try await api.store.enqueue([new])
            try await api.see("src_1", "pending", payment: .awaitingCustomer, step: step)
            try await body(api, payers)
        }
    }

    /// Presents the secret and returns the cookie.
    private func cookie(_ api: LiveAPI) async throws -> String {
        var configuration = HTTPClient.Configuration()
        configuration.redirectConfiguration = .disallow
        return try await HTTPClient.withHTTPClient(configuration: configuration) { http in
            let path = "/r/src_1?client_secret=\(Self.secret)"
            let answer = try await http.execute(
                HTTPClientRequest(url: api.url + path),
                timeout: .seconds(20)
            )
            let cookie = try #require(answer.headers.first(name: "Set-Cookie"))
            return String(cookie.prefix { $0 != ";" })
        }
    }

    private func type(_ api: LiveAPI, _ body: String, _ cookie: String) async throws -> Answer {
        try await api.request(
            .POST,
            "/r/src_1/verify",
            body: body,
            headers: ["Cookie": cookie, "Content-Type": Self.form]
        )
    }

    @Test(
        "the upstream's result is returned, and the watch gets a hint",
        arguments: [
            (VerificationResult.accepted, "accepted", nil),
            (.refused(attemptsLeft: 2), "refused", 2), (.exhausted, "exhausted", 0),
        ] as [(VerificationResult, String, Int?)]
    )
    func submitted(result: VerificationResult, word: String, left: Int?) async throws {
        try await run { api, payers in
            payers.answer(result)
            let answer = try await api.post("/v1/watches/src_1/verify", #"{"values":["SM11AA"]}"#)
            #expect(answer.status == 200 && answer["result"] == word, "\(answer.text)")
            #expect(answer.number("attempts_left") == left)
            #expect(payers.submitted == [["SM11AA"]])
            let key = WatchKey(account: .main, source: try SourceID("src_1"), kind: .source)
            #expect(try await api.store.snapshot(of: key)?.watch.hintedAt != nil)
        }
    }

    @Test("an accepted code is reported and audited even if the hint is not stored")
    func unstoredHint() async throws {
        try await run { api, _ in
            api.plan.fail(.other, [.refused])
            let answer = try await api.post("/v1/watches/src_1/verify", #"{"values":["SM11AA"]}"#)
            #expect(answer.status == 200 && answer["result"] == "accepted", "\(answer.text)")
            let key = WatchKey(account: .main, source: try SourceID("src_1"), kind: .source)
            #expect(try await api.store.snapshot(of: key)?.watch.hintedAt == nil)
            let entries = try await api.get("/v1/audit").list("data")
            #expect(entries.map { $0["action"] as? String } == ["verifyWatch"])
        }
    }

    @Test("invalid values do not reach the upstream, and a payment that needs no code gets 409")
    func refused() async throws {
        try await run { api, payers in
            for body in [
                #"{}"#, #"{"values":[]}"#, #"{"values":["1","2","3"]}"#, #"{"values":["a b"]}"#,
                #"{"values":[""]}"#, #"{"values":["12€"]}"#,
            ] {
                let answer = try await api.post("/v1/watches/src_1/verify", body)
                #expect((400...422).contains(answer.status), "\(body): \(answer.text)")
            }
            let unknown = try await api.post("/v1/watches/src_9/verify", #"{"values":["1"]}"#)
            #expect(unknown.status == 404 && unknown.code == "watch_not_found")
            #expect(payers.submitted.isEmpty)
            payers.answer(.notRequired)
            let none = try await api.post("/v1/watches/src_1/verify", #"{"values":["1"]}"#)
            #expect(none.status == 409 && none.code == "nothing_asked")
        }
    }

    @Test("without a response from the upstream, the request fails with 503")
    func unknown() async throws {
        try await run { api, payers in
            payers.answer(.unknown("down"))
            let other = try await api.post("/v1/watches/src_1/verify", #"{"values":["1"]}"#)
            #expect(other.status == 503 && other.code == "upstream_unavailable")
            #expect(other.headers.first(name: "Retry-After") == "5")
        }
    }

    @Test("a payment has one attempt at a time and one per 2 s, and a process has a limit")
    func limits() {
        let clock = Mutex(Duration.zero)
        let limits = PayerLimits(elapsed: { clock.withLock { $0 } })
        let (one, other) = (ItemID(of: "1"), ItemID(of: "2"))
        #expect(limits.enter(one))
        clock.withLock { $0 = .seconds(3) }
        #expect(!limits.enter(one), "the first is still there")
        #expect(limits.enter(other))
        limits.leave(one)
        #expect(limits.enter(one))
        limits.leave(one)
        clock.withLock { $0 = .milliseconds(4999) }
        #expect(!limits.enter(one), "a moment ago")
        clock.withLock { $0 = .seconds(5) }
        #expect(limits.enter(one))
        for number in 0..<PayerLimits.countMax - 2 {
            #expect(limits.enter(ItemID(of: "n\(number)")))
        }
        #expect(!limits.enter(ItemID(of: "last")), "this process has no place left")
        limits.leave(other)
        #expect(limits.enter(ItemID(of: "last")))
    }

    @Test(
        "an incomplete result is completed from the next poll",
        arguments: [
            (
                VerificationResult.refused(attemptsLeft: nil), PaymentState.awaitingCustomer,
                "refused", 1
            ),
            (.unknown("lost"), .awaitingCustomer, "refused", 1),
            (.unknown("lost"), .authorised, "accepted", nil),
            (.unknown("lost"), .failed, "exhausted", 0),
        ] as [(VerificationResult, PaymentState, String, Int?)]
    )
    func polled(
        result: VerificationResult,
        state: PaymentState,
        word: String,
        left: Int?
    ) async throws {
        try await run { api, payers in
            payers.answer(result)
            let listened = api.feed.listened
            async let answered = api.post("/v1/watches/src_1/verify", #"{"values":["1"]}"#)
            while api.feed.listened == listened { await Task.yield() }
            let isOpen = state == .awaitingCustomer
            try await api.see(
                "src_1",
                isOpen ? "pending" : "over",
                of: .payment(state),
                payment: state,
                step: isOpen ? .enterCode(attemptsLeft: 1) : .none
            )
            let answer = try await answered
            #expect(answer.status == 200 && answer["result"] == word, "\(answer.text)")
            #expect(answer.number("attempts_left") == left)
        }
    }

    @Test("the page has a form, and its result is shown at once")
    func page() async throws {
        try await run { api, payers in
            let cookie = try await cookie(api)
            let page = try await api.request(.GET, "/r/src_1", headers: ["Cookie": cookie])
            #expect(
                page.text.contains("action=\"/r/src_1/verify\"")
                    && page.text.contains("Attempts left: 3")
            )
            #expect(!page.text.contains("http-equiv=\"refresh\""), "nobody's typing is thrown away")
            payers.answer(.refused(attemptsLeft: 1))
            let wrong = try await type(api, "value=+sm44dd%20", cookie)
            #expect(
                wrong.status == 200
                    && wrong.text.contains("That is not correct. Please check and try again.")
            )
            #expect(wrong.text.contains("Attempts left: 1") && wrong.text.contains("<form"))
            #expect(payers.submitted == [["sm44dd"]])
        }
    }

    @Test("success and the last attempt remove the form, and a missing response keeps it")
    func ends() async throws {
        for (result, words, hasForm) in [
            (VerificationResult.accepted, "Your account is verified.", false),
            (.exhausted, "no attempts left", false),
            (.unknown("down"), "It still counts as one attempt", true),
        ] {
            try await run { api, payers in
                payers.answer(result)
                let page = try await type(api, "value=SM11AA", try await cookie(api))
                #expect(page.status == 200 && page.text.contains(words), "\(page.text)")
                #expect(page.text.contains("<form") == hasForm)
            }
        }
    }

    @Test("amounts are parsed with a decimal point or comma")
    func amounts() async throws {
        var deposits = NextStep.Microdeposits()
        deposits.sort = "amounts"
        deposits.attemptsLeft = 5
        try await run(.verifyMicrodeposits(deposits)) { api, payers in
            let cookie = try await cookie(api)
            let page = try await api.request(.GET, "/r/src_1", headers: ["Cookie": cookie])
            #expect(page.text.contains("First amount") && page.text.contains("Attempts left: 5"))
            #expect(page.text.contains("placeholder=\"0.32\""))
            let german = ["Cookie": cookie, "Accept-Language": "de"]
            let other = try await api.request(.GET, "/r/src_1", headers: german)
            #expect(other.text.contains("placeholder=\"0,32\""))
            _ = try await type(api, "value=0.32&value=0%2C45", cookie)
            #expect(payers.submitted == [["32", "45"]])
            let none = try await type(api, "value=%F0%9F%92%A9&value=1", cookie)
            #expect(none.text.contains("for example 0.32"))
            #expect(payers.submitted.count == 1)
        }
    }

    @Test("a code without the payment's cookie is rejected")
    func safe() async throws {
        try await run { api, payers in
            for cookie in ["", "return-src_1=AAAA"] {
                let page = try await type(api, "value=SM11AA", cookie)
                #expect(page.status == 404 && !page.text.contains("<form"))
            }
            #expect(payers.submitted.isEmpty)
        }
    }

    @Test("a form with the origin `null` is accepted, and one of another site is rejected")
    func origin() async throws {
        try await run { api, payers in
            let cookie = try await cookie(api)
            for (origin, status) in [("null", 200), ("https://evil.example", 403)] {
                let page = try await api.request(
                    .POST,
                    "/r/src_1/verify",
                    body: "value=SM11AA",
                    headers: ["Cookie": cookie, "Content-Type": Self.form, "Origin": origin]
                )
                #expect(page.status == status, "\(origin)")
            }
            let other = try await api.request(
                .POST,
                "/v1/watches/src_1/verify",
                body: #"{"values":["1"]}"#,
                headers: ["Origin": "null"]
            )
            #expect(other.status == 403)
            #expect(payers.submitted.count == 1)
        }
    }

    @Test("a payment without a next step has no form")
    func none() async throws {
        try await run(.none) { api, payers in
            let cookie = try await cookie(api)
            let page = try await api.request(.GET, "/r/src_1", headers: ["Cookie": cookie])
            #expect(!page.text.contains("<form"))
            #expect(payers.submitted.isEmpty)
        }
    }
}
