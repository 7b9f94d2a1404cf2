import NIOHTTP1
import PollerDeliveries
import PollerIdentity
import PollerPayments
import PollerQueue
import PollerTesting
import Testing

@testable import PollerAPI

@Suite("Unsubscribing over HTTP")
struct MailRoutesTests {
    private let list = MemorySuppressionList()
    private let tokens = UnsubscribeTokens(secret: Array(repeating: 3, count: 32))

    private func run(
        keys: KeyFile = .none,
        _ body: (LiveAPI) async throws -> Void
    ) async throws {
        let preferences = MailPreferences(suppressions: list, tokens: tokens)
        try await LiveAPI.run(keys: keys, mail: preferences, body)
    }

    private func token(_ address: String = "a@b.example") throws -> String {
        tokens.text(for: SuppressionEntry(try MailAddress(address), of: .main))
    }

    private func post(_ api: LiveAPI, _ path: String, _ body: String) async throws -> Answer {
        try await api.request(
            .POST,
            path,
            body: body,
            headers: ["Content-Type": "application/x-www-form-urlencoded"]
        )
    }

    private let oneClick = "List-Unsubscribe=One-Click"

    @Test("opening the link changes nothing, and one click unsubscribes without a key")
    func oneClickStops() async throws {
        let keys = try KeyFile(text: "pk_0123456789abcdef0123")
        try await run(keys: keys) { api in
            let recipient = try MailAddress("A@b.example")
            let path = "/u/\(try token())"
            let page = try await api.get(path)
            #expect(page.status == 200 && page.text.contains("<button>Unsubscribe</button>"))
            #expect(page.headers.first(name: "Content-Security-Policy")?.contains("'self'") == true)
            #expect(!page.text.contains("b.example"))
            #expect(try await list.reason(for: recipient, of: .main) == nil)
            let done = try await post(api, path, oneClick)
            #expect(done.status == 200 && done.text.contains("You are unsubscribed"))
            #expect(try await list.reason(for: recipient, of: .main) == .unsubscribed)
            #expect(try await list.reason(for: recipient, of: AccountID("acct_1")) == nil)
            #expect(try await post(api, path, oneClick).status == 200, "again is as good as once")
            let multipart =
                "--x\r\nContent-Disposition: form-data; name=\"List-Unsubscribe\"\r\n\r\n"
                + "One-Click\r\n--x--\r\n"
            #expect(try await post(api, path, multipart).status == 200)
        }
    }

    @Test("a click with the origin `null`, as from mail clients and sandboxes, unsubscribes")
    func origin() async throws {
        let recipient = try MailAddress("a@b.example")
        for keys in [KeyFile.none, try KeyFile(text: "pk_0123456789abcdef0123")] {
            try await run(keys: keys) { api in
                let page = try await api.request(
                    .POST,
                    "/u/\(try token())",
                    body: oneClick,
                    headers: [
                        "Content-Type": "application/x-www-form-urlencoded", "Origin": "null",
                    ]
                )
                #expect(page.status == 200 && page.text.contains("You are unsubscribed"))
                #expect(try await list.reason(for: recipient, of: .main) == .unsubscribed)
                try await list.lift(recipient, of: .main)
            }
        }
    }

    @Test("the page has the shop's branding and the language of the mail")
    func branded() async throws {
        let shops = [
            AccountID.main: try Branding(name: "Käserei <Müller>", colour: "#0b6e4f"),
            try AccountID("acct_1"): try Branding(
                name: "Other",
                logoURL: "https://other.example/logo.png",
                languageTag: "fr"
            ),
        ]
        let preferences = MailPreferences(suppressions: list, tokens: tokens)
        try await LiveAPI.run(mail: preferences, branding: shops) { api in
            let recipient = try MailAddress("a@b.example")
            func page(_ account: AccountID, _ view: String?) async throws -> Answer {
                let entry = SuppressionEntry(recipient, of: account)
                let sender = tokens.sender(account, of: entry)
                let query = view.map { "?v=\($0.replacing("ME", with: sender))" } ?? ""
                return try await api.get("/u/\(tokens.text(for: entry))\(query)")
            }
            let german = try await page(.main, "de.ME")
            #expect(
                german.text.contains("lang=\"de\"")
                    && german.text.contains("E-Mails zu Ihren Zahlungen abbestellen")
            )
            #expect(german.text.contains("bei Käserei &lt;Müller&gt;."))
            #expect(german.text.contains("background: #0b6e4f"))
            let other = try await page(AccountID("acct_1"), "xx.ME&utm=1")
            #expect(other.text.contains("lang=\"fr\"") && other.text.contains("alt=\"Other\""))
            let policy = other.headers.first(name: "Content-Security-Policy")
            #expect(policy?.contains("img-src https://other.example/logo.png;") == true)
            // Links without the language and sender, or with altered ones.
            for view in [nil, "de", "de.", "it.AAAAAAAA"] {
                let plain = try await page(.main, view)
                #expect(plain.status == 200 && !plain.text.contains("Müller"), "\(view ?? "")")
            }
        }
    }

    @Test("an invalid link, and a post without the one-click field, do nothing")
    func refused() async throws {
        try await run { api in
            let good = try token()
            let stranger = UnsubscribeTokens(secret: Array(repeating: 4, count: 32))
            let entry = SuppressionEntry(try MailAddress("a@b.example"), of: .main)
            let bad = [
                stranger.text(for: entry), String(good.dropLast()), good + "A", "x",
                String(good.reversed()), String(repeating: "A", count: 34),
            ]
            for text in bad {
                #expect(try await api.get("/u/\(text)").status == 404, "\(text)")
                #expect(try await post(api, "/u/\(text)", oneClick).status == 404, "\(text)")
            }
            // The requests that a mail scanner sends to every link.
            #expect(try await post(api, "/u/\(good)", "").status == 400)
            #expect(try await post(api, "/u/\(good)", "a=b").status == 400)
            let big = String(repeating: "x", count: 5000)
            #expect(try await post(api, "/u/\(good)", big).status == 413)
            list.fail(with: .unavailable("down"))
            #expect(try await post(api, "/u/\(good)", oneClick).status == 503)
            list.fail(with: nil)
            let recipient = try MailAddress("a@b.example")
            #expect(try await list.reason(for: recipient, of: .main) == nil)
        }
    }

    @Test("a bounce or complaint suppresses a recipient for every account until it is lifted")
    func bounces() async throws {
        try await run { api in
            let path = "/v1/mail/suppressions/a@b.example"
            #expect(try await api.get(path).json["suppressed"] as? Bool == false)
            let soft = #"{"recipient":"a@b.example","type":"soft_bounce"}"#
            #expect(
                try await api.post("/v1/mail/bounces", soft).json["suppressed"] as? Bool == false
            )
            for type in ["hard_bounce", "complaint"] {
                let body = #"{"recipient":"A@B.example","type":"\#(type)"}"#
                let answer = try await api.post("/v1/mail/bounces", body)
                #expect(answer.status == 200 && answer["reason"] == type)
                for place in [path, path.replacing("@", with: "%40"), path + "?account=acct_1"] {
                    #expect(try await api.get(place)["reason"] == type, "\(place)")
                }
            }
            #expect(try await api.request(.DELETE, path).json["suppressed"] as? Bool == false)
            #expect(try await api.get(path).json["suppressed"] as? Bool == false)
            let bad = [
                (#"{"type":"complaint"}"#, "recipient"),
                (#"{"recipient":"a@b\r\nc","type":"complaint"}"#, "recipient"),
                (#"{"recipient":"a@b.example","type":"spam"}"#, "type"),
                (#"{"recipient":"a@b.example"}"#, "type"),
                (#"{"recipient":"a@b.example","type":"complaint","x":1}"#, "x"),
            ]
            for (body, field) in bad {
                let answer = try await api.post("/v1/mail/bounces", body)
                #expect([400, 422].contains(answer.status) && answer["field"] == field, "\(body)")
            }
            #expect(try await api.get("/v1/mail/suppressions/nobody").status == 400)
        }
    }

    @Test("a lifted suppression is audited even if the list cannot be read afterwards")
    func liftedUnread() async throws {
        try await run { api in
            let bounce = #"{"recipient":"a@b.example","type":"hard_bounce"}"#
            #expect(try await api.post("/v1/mail/bounces", bounce).status == 200)
            list.fail(afterLiftWith: .unavailable("down"))
            let lifted = try await api.request(.DELETE, "/v1/mail/suppressions/a@b.example")
            #expect(lifted.status == 200, "\(lifted.text)")
            #expect(lifted.json["suppressed"] as? Bool == false)
            let entry = try #require(try await api.get("/v1/audit").list("data").first)
            #expect(entry["action"] as? String == "liftSuppression")
            let before = try #require(entry["before"] as? [String: Any])
            #expect(before["reason"] as? String == "hard_bounce", "\(before)")
            list.fail(with: nil)
        }
    }

    @Test("reporting and reading bounces needs a key")
    func keys() async throws {
        let keys = try KeyFile(text: "pk_0123456789abcdef0123")
        try await run(keys: keys) { api in
            let body = #"{"recipient":"a@b.example","type":"complaint"}"#
            let reported = try await api.post("/v1/mail/bounces", body)
            let asked = try await api.get("/v1/mail/suppressions/a@b.example")
            #expect(reported.status == 401 && asked.status == 401)
        }
    }
}
