import NIOHTTP1
import PollerDeliveries
import PollerIdentity
import PollerTesting
import Testing

@testable import PollerAPI

@Suite("The suppression list over HTTP", .timeLimit(.minutes(5)))
struct SuppressionListTests {
    private let list = MemorySuppressionList()
    private let tokens = UnsubscribeTokens(secret: Array(repeating: 3, count: 32))

    private func run(_ body: (LiveAPI) async throws -> Void) async throws {
        let preferences = MailPreferences(suppressions: list, tokens: tokens)
        try await LiveAPI.run(mail: preferences, body)
    }

    private func report(_ api: LiveAPI, _ recipient: String) async throws {
        let body = #"{"recipient":"\#(recipient)","type":"hard_bounce"}"#
        #expect(try await api.post("/v1/mail/bounces", body).status == 200)
    }

    @Test("recipients are listed with reason and time, their addresses masked")
    func listed() async throws {
        try await run { api in
            try await report(api, "jane@example.com")
            let recipient = try MailAddress("kunde@shop.example")
            let entry = SuppressionEntry(recipient, of: .main)
            let token = tokens.text(for: entry)
            let view =
                "en.\(tokens.sender(.main, of: entry)).\(tokens.hint(of: recipient, in: entry))"
            _ = try await api.request(
                .POST,
                "/u/\(token)?v=\(view)",
                body: "List-Unsubscribe=One-Click",
                headers: ["Content-Type": "application/x-www-form-urlencoded"]
            )
            let answer = try await api.get("/v1/mail/suppressions")
            let rows = answer.list("data")
            #expect(rows.count == 2, "\(answer.text)")
            let bounced = try #require(rows.first { $0["reason"] as? String == "hard_bounce" })
            #expect(bounced["recipient"] as? String == "j…e@example.com")
            #expect(bounced["since"] is String && bounced["account"] == nil)
            let unsubscribed = try #require(
                rows.first { $0["reason"] as? String == "unsubscribed" }
            )
            #expect(unsubscribed["recipient"] as? String == "k…e@shop.example")
            #expect(!answer.text.contains("jane@") && !answer.text.contains("kunde@"))
        }
    }

    @Test("an entry is lifted once by its ID, and the recipient can receive mail again")
    func lifted() async throws {
        try await run { api in
            try await report(api, "jane@example.com")
            let rows = try await api.get("/v1/mail/suppressions").list("data")
            let id = try #require(rows.first?["id"] as? String)
            let lifted = try await api.request(.DELETE, "/v1/mail/entries/\(id)")
            #expect(lifted.status == 200 && lifted["id"] == id, "\(lifted.text)")
            #expect(try await list.reason(for: MailAddress("jane@example.com"), of: .main) == nil)
            #expect(try await api.get("/v1/mail/suppressions").list("data").isEmpty)
            let again = try await api.request(.DELETE, "/v1/mail/entries/\(id)")
            #expect(again.status == 404 && again.code == "entry_not_found")
            #expect(
                try await api.request(.DELETE, "/v1/mail/entries/x").code == "invalid_parameter"
            )
            let changes = try await api.get("/v1/audit?action=liftSuppressionEntry").list("data")
            #expect(changes.count == 1, "the audit trail has the change")
        }
    }

    @Test("only the cluster can read a link's hint, and it is valid for its own entry only")
    func hints() throws {
        let recipient = try MailAddress("Kunde@Shop.example")
        let entry = SuppressionEntry(recipient, of: .main)
        let hint = tokens.hint(of: recipient, in: entry)
        #expect(hint == tokens.hint(of: try MailAddress("kunde@shop.example"), in: entry))
        #expect(hint.utf8.allSatisfy { $0 < 0x80 } && !hint.contains("shop"))
        #expect(tokens.masked(ofHint: hint, in: entry) == "k…e@shop.example")
        let other = SuppressionEntry(everywhere: recipient)
        let stranger = UnsubscribeTokens(secret: Array(repeating: 4, count: 32))
        #expect(tokens.masked(ofHint: hint, in: other) == nil)
        #expect(stranger.masked(ofHint: hint, in: entry) == nil)
        for wrong in ["", "x", "A", String(repeating: "A", count: 40), hint + "AAAA"] {
            #expect(tokens.masked(ofHint: wrong, in: entry) == nil, "\(wrong)")
        }
    }

    @Test("the list is read page by page")
    func pages() async throws {
        try await run { api in
            for number in 0..<5 { try await report(api, "a\(number)@b.example") }
            var seen: Set<String> = []
            var path = "/v1/mail/suppressions?limit=2"
            for _ in 0..<5 {
                let page = try await api.get(path)
                seen.formUnion(page.list("data").compactMap { $0["id"] as? String })
                guard let next = page["next"] else { break }
                path = "/v1/mail/suppressions?limit=2&cursor=\(next)"
            }
            #expect(seen.count == 5)
        }
    }

    @Test(
        "a mask keeps the first and the last letter and the domain",
        arguments: [
            ("jane@example.com", "j…e@example.com"), ("jo@example.com", "j…@example.com"),
            ("j@example.com", "j…@example.com"), ("jane.doe+x@example.com", "j…x@example.com"),
        ]
    )
    func mask(_ address: String, _ masked: String) throws {
        #expect(try MailAddress(address).masked == masked)
    }
}
