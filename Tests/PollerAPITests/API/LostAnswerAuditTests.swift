import NIOHTTP1
import PollerDeliveries
import PollerIdentity
import PollerOperations
import PollerQueue
import PollerTesting
import Testing

@testable import PollerAPI

/// A change without an answer may have happened, and a repeat then finds nothing to change.
@Suite("Audit of changes without an answer of the store", .timeLimit(.minutes(5)))
struct LostAnswerAuditTests {
    private static let admin = "key-of-ada-0123456789abc"
    private static let keys = "\(admin) role=admin name=ada"

    private func send(
        _ api: LiveAPI,
        _ method: HTTPMethod,
        _ path: String,
        _ body: String? = nil
    ) async throws -> Answer {
        let headers = [
            "Authorization": "Bearer \(Self.admin)", "Content-Type": "application/json",
        ]
        return try await api.request(method, path, body: body, headers: headers)
    }

    /// Sends a request, loses the store's answer to its change, and checks the newest audit entry.
    private func lose(
        _ api: LiveAPI,
        _ action: String,
        _ method: HTTPMethod,
        _ path: String,
        _ body: String? = nil,
        target: String? = nil
    ) async throws {
        let answer = try await send(api, method, path, body)
        #expect(answer.status == 503, "\(action): \(answer.text)")
        try await check(api, action, target: target)
    }

    /// Checks the newest audit entry and, if its target is given, that it belongs to the account acme.
    private func check(_ api: LiveAPI, _ action: String, target: String?) async throws {
        let entry = try #require(try await send(api, .GET, "/v1/audit").list("data").first)
        #expect(entry["action"] as? String == action)
        let after = entry["after"] as? [String: Any]
        #expect(after?["result"] as? String == "unknown", "\(action)")
        guard let target else { return }
        let audited = entry["target"] as? [String: Any]
        #expect(audited?["id"] as? String == target, "\(action)")
        #expect(entry["account"] as? String == "acme", "\(action)")
    }

    @Test("cancelling, redriving and dismissing a watch has an unknown result")
    func watches() async throws {
        try await LiveAPI.run(keys: KeyFile(text: Self.keys)) { api in
            for source in ["src_1", "src_2", "src_3"] {
                let body = #"{"source":"\#(source)"}"#
                #expect(try await send(api, .POST, "/v1/watches", body).status == 201)
            }
            for source in ["src_2", "src_3"] { try await api.bury(source, because: "nonsense") }
            let requests: [(action: String, method: HTTPMethod, path: String)] = [
                ("cancelWatch", .DELETE, "/v1/watches/src_1"),
                ("redrive", .POST, "/v1/quarantine/src_2/redrive"),
                ("dismissWatch", .POST, "/v1/quarantine/src_3/dismiss"),
            ]
            for request in requests {
                api.plan.fail(.other, [.answerLost])
                try await lose(api, request.action, request.method, request.path)
            }
        }
    }

    @Test("a change that the store has not executed leaves no entry")
    func notExecuted() async throws {
        try await LiveAPI.run(keys: KeyFile(text: Self.keys)) { api in
            let body = #"{"source":"src_1"}"#
            let created = try await send(api, .POST, "/v1/watches", body)
            api.plan.fail(.other, [.refused])
            let refused = try await send(api, .DELETE, "/v1/watches/src_1")
            #expect([created.status, refused.status] == [201, 503])
            let entries = try await send(api, .GET, "/v1/audit").list("data")
            #expect(entries.isEmpty)
        }
    }

    @Test("lifting an entry of the suppression list has an unknown result")
    func suppressions() async throws {
        let list = MemorySuppressionList()
        let mail = MailPreferences(
            suppressions: list,
            tokens: UnsubscribeTokens(secret: Array(repeating: 3, count: 32))
        )
        try await LiveAPI.run(keys: KeyFile(text: Self.keys), mail: mail) { api in
            let bounce = #"{"recipient":"jane@example.com","type":"hard_bounce"}"#
            #expect(try await send(api, .POST, "/v1/mail/bounces", bounce).status == 200)
            let rows = try await send(api, .GET, "/v1/mail/suppressions").list("data")
            let id = try #require(rows.first?["id"] as? String)
            list.loseNextAnswer()
            try await lose(api, "liftSuppressionEntry", .DELETE, "/v1/mail/entries/\(id)")
        }
    }

    @Test("creating and revoking a key has an unknown result")
    func ofKeys() async throws {
        let losing = { @Sendable (base: any KeyStore) in LosingKeyStore(base: base) }
        try await LiveAPI.run(keys: KeyFile(text: Self.keys), keyStoreInFront: losing) { api in
            let key = #"{"role":"viewer","accounts":["acme"]}"#
            try await lose(api, "createKey", .POST, "/v1/keys", key)
            let rows = try await send(api, .GET, "/v1/keys").list("data")
            let id = try #require(rows.first?["id"] as? String)
            try await check(api, "createKey", target: id)
            try await lose(api, "revokeKey", .DELETE, "/v1/keys/\(id)", target: id)
            #expect(try await send(api, .GET, "/v1/keys").list("data").isEmpty)
        }
    }

    @Test("creating, changing, rotating and removing an endpoint has an unknown result")
    func endpoints() async throws {
        let losing = { @Sendable (base: any EndpointStore) in LosingEndpointStore(base: base) }
        try await LiveAPI.run(keys: KeyFile(text: Self.keys), endpointStoreInFront: losing) { api in
            let hook = #"{"url":"https://h.example/a","account":"acme"}"#
            try await lose(api, "createEndpoint", .POST, "/v1/endpoints", hook)
            let rows = try await send(api, .GET, "/v1/endpoints").list("data")
            let id = try #require(rows.first?["id"] as? String)
            try await check(api, "createEndpoint", target: id)
            let path = "/v1/endpoints/\(id)"
            let other = #"{"url":"https://h.example/b"}"#
            try await lose(api, "changeEndpoint", .PATCH, path, other, target: id)
            try await lose(api, "rotateEndpoint", .POST, path + "/rotate", "{}", target: id)
            try await lose(api, "removeEndpoint", .DELETE, path, target: id)
            // A repeat finds nothing to remove.
            #expect(try await send(api, .DELETE, path).status == 404)
        }
    }
}

/// A registry that loses the answer of every change.
private struct LosingEndpointStore: ForwardingEndpointStore {
    let base: any EndpointStore

    func create(
        _ endpoint: Endpoint,
        request: EndpointRequest?,
        accountMax: Int
    ) async throws(StoreError) -> EndpointCreation {
        _ = try await base.create(endpoint, request: request, accountMax: accountMax)
        throw .unavailable("the answer is lost")
    }

    func replace(
        _ endpoint: Endpoint,
        version: Int64
    ) async throws(StoreError) -> EndpointReplacement {
        _ = try await base.replace(endpoint, version: version)
        throw .unavailable("the answer is lost")
    }

    func remove(_ id: EndpointID, version: Int64?) async throws(StoreError) -> EndpointRemoval {
        _ = try await base.remove(id, version: version)
        throw .unavailable("the answer is lost")
    }
}

/// A store of keys that loses the answer of every change.
private struct LosingKeyStore: KeyStore {
    let base: any KeyStore

    func version() async throws(StoreError) -> Int64 { try await base.version() }

    func register() async throws(StoreError) -> KeyRegister { try await base.register() }

    func create(
        _ key: AccessKey,
        digest: KeyDigest,
        within accountLimit: AccountKeyLimit?
    ) async throws(StoreError) -> KeyCreation {
        _ = try await base.create(key, digest: digest, within: accountLimit)
        throw .unavailable("the answer is lost")
    }

    func revoke(_ id: KeyID, mayBeLast: Bool) async throws(StoreError) -> KeyRevocation {
        _ = try await base.revoke(id, mayBeLast: mayBeLast)
        throw .unavailable("the answer is lost")
    }

    func note(used: [KeyID: Timestamp]) async throws(StoreError) {
        try await base.note(used: used)
    }
}
