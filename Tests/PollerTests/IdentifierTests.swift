import PollerIdentity
import PollerTesting
import Testing

@testable import PollerDeliveries
@testable import PollerPayments
@testable import PollerQueue
@testable import PollerWatches

@Suite("Identifiers from outside")
struct IdentifierTests {
    @Test("letters, digits, '_', '-' and '.' pass", arguments: ["a", "src_1-2.X", "...", "-"])
    func passes(_ text: String) throws {
        #expect(try IdentifierSyntax.check(text, field: "f", lengthMax: 16) == text)
    }

    @Test(
        "other characters are rejected",
        arguments: [
            "", " ", "a b", "a/b", "../x", "a{b}", "a\nb", "a\r", "a\u{0}", "a|b", "é", "a%20",
            "a:b", "日本", "a\u{200b}", "e\u{301}", "\u{7f}", "a*",
        ]
    )
    func refuses(_ text: String) {
        #expect(throws: InvalidInput.self) {
            try IdentifierSyntax.check(text, field: "f", lengthMax: 64)
        }
    }

    @Test("each identifier has a maximum length")
    func lengths() throws {
        let long = String(repeating: "x", count: 600)
        for (length, make) in [
            (64, { (text: String) throws in try AccountID(text).description }),
            (255, { (text: String) throws in try SourceID(text).description }),
            (64, { (text: String) throws in try SourceStatus(text).description }),
            (512, { (text: String) throws in try ClientSecret(text).reveal ?? "" }),
        ] {
            #expect(try make(String(long.prefix(length))).count == length)
            #expect(throws: InvalidInput.self) { try make(String(long.prefix(length + 1))) }
        }
    }

    @Test("the description of a watch contains no client secret")
    func secret() throws {
        let secret = try ClientSecret("src_1_secret_abc")
        #expect(!"\(secret)".contains("abc"))
        let watch = Watch(
            Sample.key(),
            createdAt: VirtualTime.start,
            deadline: VirtualTime.start,
            clientSecret: secret
        )
        #expect(!"\(watch)".contains("abc"))
    }

    @Test(
        "a secret in place of an ID is rejected without being repeated in the error",
        arguments: [
            ("pi_3QaB_secret_k3yk3y", "pi_3QaB"), ("seti_1Ab_secret_k3yk3y", "seti_1Ab"),
            (" pi_1_SECRET_k3yk3y", "pi_1"), ("src_client_secret_k3yk3y", nil),
            ("cs_test_a1_secret_k3yk3y", nil), ("x_secret_k3yk3y", nil), ("sk_live_k3yk3y", nil),
            ("sk_test_k3yk3y", nil), ("SK_TEST_k3yk3y", nil), ("sk_org_live_k3yk3y", nil),
            ("sk_k3yk3y", nil), ("rk_live_k3yk3y", nil), ("rk_k3yk3y", nil),
            ("whsec_k3yk3y", nil), ("pk_live_k3yk3y", nil),
            ("https://shop.example/?key=sk_live_k3yk3y", nil), ("WhSec_k3yk3y", nil),
            ("X_Secret_k3yk3y", nil), ("S\u{212A}_LIVE_k3yk3y", nil), ("a_b_c-ek_test_k3yk3y", nil),
        ] as [(String, String?)]
    )
    func secrets(text: String, id: String?) {
        for make in [
            { (text: String) throws in _ = try SourceID(text) },
            { (text: String) throws in _ = try EndpointScope(sources: [text]) },
        ] {
            let error = #expect(throws: InvalidInput.self) { try make(text) }
            let message = error.map { "\($0)" } ?? ""
            #expect(!message.contains("k3y") && message.contains("not an id"), "\(message)")
            if let id { #expect(message.contains("give \(id),"), "\(message)") }
        }
    }

    @Test("a name that begins like a key is accepted, and a whole key is rejected")
    func names() throws {
        for name in ["sk_shop", "rk_7", "SK_2026_001", "my_secret_santa"] {
            #expect(try AccountID(name).description == name)
            #expect(try OrderID(name).description == name)
        }
        for key in ["sk_live_1", "rk_test_1", "whsec_1", "pi_1_secret_1"] {
            #expect(throws: InvalidInput.self) { try AccountID(key) }
            #expect(throws: InvalidInput.self) { try OrderID(key) }
            #expect(throws: InvalidInput.self) {
                try SearchQuery("source=\(key)", keys: .standard, now: VirtualTime.start)
            }
        }
        for id in ["pi_3QaB", "src_1", "ch_secret", "risk_1", "task_test_1", "pi_secret"] {
            #expect(try SourceID(id).description == id)
        }
        #expect(try SourceStatus("sk_secret_x").description == "sk_secret_x")
    }

    @Test("a status keeps its case and is compared case-insensitively")
    func status() throws {
        let status = try SourceStatus("Requires_Action")
        #expect(status.description == "Requires_Action")
        #expect(status == SourceStatus(unchecked: "requires_action"))
        #expect(Set([status]).contains(SourceStatus(unchecked: "REQUIRES_ACTION")))
        #expect(try status != SourceStatus("requires_actions"))
    }

    @Test(
        "a status may be any text, and surrounding white space is removed",
        arguments: [
            ("Awaiting Payment", "Awaiting Payment", "awaiting_payment"),
            (" SETTLED   ", "SETTLED", "settled"), ("a\t\n b", "a b", "a_b"),
            ("\u{DC}berwiesen", "\u{DC}berwiesen", "uberwiesen"),
            ("paid/settled", nil, "paid_settled"),
            ("a|b", nil, "a_b"), ("\u{5DF2}\u{4ED8}\u{6B3E}", nil, "other"), ("2.0", nil, "2.0"),
        ] as [(String, String?, String)]
    )
    func statusText(text: String, kept: String?, type: String) throws {
        let status = try SourceStatus(text)
        #expect(status.description == kept ?? text)
        #expect(status.typeName == type)
        #expect(try IdentifierSyntax.check(status.typeName, field: "f", lengthMax: 64) == type)
    }

    @Test(
        "an empty, too long or control-character status is rejected",
        arguments: [
            "", " ", "\n", "a\u{0}b", "a\u{1B}[2J", "a\u{202E}b",
            String(repeating: "\u{E9}", count: 65),
        ]
    )
    func noStatus(text: String) {
        #expect(throws: InvalidInput.self) { try SourceStatus(text) }
    }

    @Test(
        "the prefix of an ID determines the kind",
        arguments: [
            ("src_1", .source), ("pi_1", .paymentIntent), ("seti_1", .setupIntent),
            ("ch_1", .charge), ("py_1", .charge), ("tok_1", nil), ("order-1", nil),
        ] as [(String, SourceKind?)]
    )
    func kind(id: String, kind: SourceKind?) {
        #expect(SourceKind(inferredFrom: SourceID(unchecked: id)) == kind)
    }

    @Test("owner IDs from one generator are unique and have eleven characters")
    func owner() {
        var generator = SeededGenerator(seed: 5)
        let owners = (0..<1000).map { _ in OwnerID(using: &generator).description }
        #expect(Set(owners).count == 1000)
        #expect(owners.allSatisfy { $0.count == 11 })
    }

    @Test("base64url decodes its own output and rejects other characters")
    func base64() {
        var generator = SeededGenerator(seed: 6)
        for length in 0..<64 {
            let bytes = (0..<length).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
            #expect(Base64URL.decode(Base64URL.encode(bytes)) == bytes)
        }
        #expect(Base64URL.encode([0xFB, 0xFF]) == "-_8")
        #expect(Base64URL.decode("a+b/") == nil)
    }

    @Test("a new watch is validated as a whole")
    func newWatch() throws {
        let key = Sample.key()
        // The default span comes from the kind for Stripe's objects, and from the policy for others.
        #expect(try NewWatch(key: key, policy: .interactive).timeout == key.kind.life)
        let other = WatchKey(account: key.account, source: key.source, kind: .http)
        #expect(try NewWatch(key: other, policy: .interactive).timeout == .seconds(600))
        let urls = try (0..<17).map { try NotifyURL("https://a.example/\($0)") }
        #expect(try NewWatch(key: key, notify: Array(urls.prefix(16))).notify.count == 16)
        #expect(throws: InvalidInput.self) { try NewWatch(key: key, notify: urls) }
        for timeout in [Duration.zero, .milliseconds(999), .seconds(-1), .seconds(7_776_001)] {
            #expect(throws: InvalidInput.self) { try NewWatch(key: key, timeout: timeout) }
        }
        let metadata = String(repeating: "x", count: 4097)
        #expect(throws: InvalidInput.self) { try NewWatch(key: key, metadata: metadata) }
    }
}

@Suite("ItemID")
struct ItemIDTests {
    @Test("an item ID is twelve characters from SHA-256 and never changes")
    func stable() {
        // The first 9 bytes of SHA-256("acct_a\\0source\\0src_1"). Stored keys depend on it.
        #expect(Sample.key().id.description == "vhDUJdIsMklN")
    }

    @Test("the boundaries between parts matter")
    func parts() {
        #expect(ItemID(of: "a", "bc") != ItemID(of: "ab", "c"))
        #expect(ItemID(of: "a") != ItemID(of: "a", ""))
    }

    @Test("the IDs of many items are unique")
    func distinct() {
        let ids = Set((0..<20_000).map { Sample.key("src_\($0)").id })
        #expect(ids.count == 20_000)
        #expect(ids.allSatisfy { $0.description.utf8.count == 12 })
    }
}
