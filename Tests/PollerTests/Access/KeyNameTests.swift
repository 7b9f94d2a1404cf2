import PollerIdentity
import Testing

@testable import PollerOperations

@Suite("Key names in the audit trail")
struct KeyNameTests {
    @Test(
        "names reserved for the system are rejected",
        arguments: ["pollerd", "Configuration", "open", "another  key", "anonymous", "stranger"]
    )
    func reserved(name: String) {
        #expect(throws: InvalidInput.self) { try AuditActor.checkName(name) }
    }

    @Test("any other name is accepted, as is no name")
    func others() throws {
        for name in ["deploy", "pollerd-2", nil] { try AuditActor.checkName(name) }
    }

    @Test("a key restricted to accounts is shown with its name and ID, other keys with their name")
    func qualified() throws {
        let acme = AccountSet.some([AccountID(unchecked: "acme")])
        for (name, accounts, wanted) in [
            ("root", acme, "root (key_1)"), (nil, acme, "key_1"), ("root", .all, "root"),
        ] as [(String?, AccountSet, String)] {
            let key = try AccessKey(
                id: KeyID(unchecked: "key_1"),
                name: name,
                role: .admin,
                accounts: accounts,
                createdBy: "test"
            )
            #expect(key.caller.actor.name == wanted)
        }
    }

    @Test("a caller restricted to accounts may only write to streams of these accounts")
    func streams() throws {
        let acme = AccountID(unchecked: "acme")
        let bound = Caller(name: "k", scopes: [], accounts: .some([acme]))
        let all = Caller(name: "k", scopes: [], accounts: .all)
        for text in ["redis+stream:orders", "redis+stream:acme", "redis+stream:acme-2/orders"] {
            let url = try NotifyURL(text)
            #expect(throws: InvalidInput.self) { try url.check(for: bound, of: acme, field: "url") }
            try url.check(for: all, of: acme, field: "url")
        }
        for text in ["redis+stream:acme/orders", "https://h.example", "mailto:a@b.example"] {
            try NotifyURL(text).check(for: bound, of: acme, field: "url")
        }
        #expect(try NotifyURL("redis+stream:acme/orders").host == "acme/orders")
        for text in ["redis+stream:a/b/c", "redis+stream:/b", "redis+stream:a/"] {
            #expect(throws: InvalidInput.self) { try NotifyURL(text) }
        }
    }

    @Test("the audit trail has a webhook's host and a hash of its path, but not the path")
    func shortened() throws {
        let url = try NotifyURL("https://hooks.example/T00/SECRETPATH?token=1")
        #expect(url.shortened.hasPrefix("https://hooks.example/… (sha256 "))
        #expect(!url.shortened.contains("SECRETPATH") && !url.shortened.contains("token"))
        #expect(url.shortened != (try NotifyURL("https://hooks.example/T01")).shortened)
        for text in ["https://hooks.example", "https://hooks.example/", "redis+stream:orders"] {
            #expect(try NotifyURL(text).shortened == text)
        }
        let recorded = AuditFacts.difference(nil, AuditFacts(["url": "\(url)"])).after
        #expect(recorded.map { !"\($0)".contains("SECRETPATH") } == true)
    }
}
