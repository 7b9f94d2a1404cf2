import Foundation
import NIOHTTP1
import Poller
import PollerDeliveries
import PollerIdentity
import PollerOperations
import PollerPayments
import PollerQueue
import PollerTesting
import PollerWatches
import Synchronization
import Testing

@testable import PollerAPI

/// The entries in the audit trail, for every existing route.
@Suite("Audit trail over HTTP", .timeLimit(.minutes(5)))
struct AuditRoutesTests {
    private static let admin = "key-of-ada-0123456789abc"
    private static let viewer = "key-of-vic-0123456789abc"
    private static let acme = "key-of-acme-0123456789ab"
    private static let keys = """
        \(admin) role=admin name=ada
        \(viewer) role=viewer name=vic
        \(acme) role=admin account=acme name=acme-admin
        """

    private func run(_ body: (LiveAPI) async throws -> Void) async throws {
        let mail = MailPreferences(
            suppressions: MemorySuppressionList(),
            tokens: UnsubscribeTokens(secret: Array(repeating: 3, count: 32))
        )
        try await LiveAPI.run(
            keys: KeyFile(text: Self.keys),
            payers: AgreeingPayers(),
            mail: mail,
            channels: [RecordingChannel()],
            body
        )
    }

    private func trail(
        _ api: LiveAPI,
        _ query: String = "",
        key: String = admin
    ) async throws -> [[String: Any]] {
        let answer = try await api.get("/v1/audit?limit=500&\(query)", headers: bearer(key))
        #expect(answer.status == 200, "\(answer.text)")
        return answer.list("data")
    }

    @Test("a bound key searches the trail once at a time")
    func oneAtATime() async throws {
        let reads = SlowReads()
        try await LiveAPI.run(
            keys: KeyFile(text: Self.keys),
            trailInFront: reads.inFront
        ) { api in
            try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        try await api.get("/v1/audit", headers: bearer(Self.acme)).status
                    }
                }
                for try await status in group { #expect(status == 200) }
            }
            #expect(reads.most == 1)
        }
    }

    @Test("every route that writes is audited or states a reason")
    func everyRoute() async throws {
        try await run { api in
            for route in api.routes {
                switch route.audit {
                case .read: #expect(route.methodName == "GET", "\(route.operation)")
                case .change: #expect(route.methodName != "GET", "\(route.operation)")
                case .traffic(let why):
                    #expect(route.methodName != "GET" && why.count > 20, "\(route.operation)")
                }
            }
        }
    }

    @Test(
        "each change adds one audit entry with author, address, action and target, and no secrets"
    )
    func everyChange() async throws {
        try await run { api in
            let stage = try await Stage(api, headers: bearer(Self.admin))
            for route in api.routes where route.audit == .change {
                let (path, body) = try await stage.request(route)
                let before = try await trail(api).count
                let answer = try await api.request(
                    HTTPMethod(rawValue: route.methodName),
                    path,
                    body: body,
                    headers: bearer(Self.admin)
                )
                #expect((200..<300).contains(answer.status), "\(route.operation): \(answer.text)")
                let entries = try await trail(api)
                #expect(entries.count == before + 1, "\(route.operation)")
                guard let entry = entries.first else { continue }
                #expect(entry["by"] as? String == "ada" && entry["role"] as? String == "admin")
                #expect(entry["action"] as? String == route.operation)
                #expect(entry["address"] as? String == "127.0.0.1")
                #expect(entry["request"] as? String == answer.headers.first(name: "x-request-id"))
                let target = entry["target"] as? [String: String]
                #expect(target?["id"]?.isEmpty == false, "\(route.operation)")
                #expect(target?["kind"] != "store", "\(route.operation) names its target")
            }
            let text = try await api.get("/v1/audit?limit=500", headers: bearer(Self.admin))
                .text
            for secret in [
                "whsec_", "plr_", "header-secret", "query-secret", "98765", "DE8937",
                "a@b.example", "b@b.example",
            ] {
                #expect(!text.contains(secret), "the trail holds \(secret)")
            }
        }
    }

    @Test("an entry has the values before and after, and a repeated change adds no entry")
    func differences() async throws {
        try await run { api in
            let headers = bearer(Self.admin)
            for _ in 0..<2 {
                let path = "/v1/lanes/acme/sources/pause"
                #expect(try await api.request(.POST, path, headers: headers).status == 200)
            }
            let entries = try await trail(api)
            #expect(entries.count == 1)
            let entry = try #require(entries.first)
            #expect((entry["before"] as? [String: Bool]) == ["paused": false])
            #expect((entry["after"] as? [String: Bool]) == ["paused": true])
            #expect(entry["account"] as? String == "acme")
        }
    }

    @Test(
        "rejected requests of a known key are recorded once a minute, those of an unknown key never"
    )
    func refusals() async throws {
        try await run { api in
            for _ in 0..<3 {
                let path = "/v1/lanes/acme/sources/pause"
                let refused = try await api.request(.POST, path, headers: bearer(Self.viewer))
                #expect(refused.status == 403)
                let stranger = bearer("key-of-nobody-0123456789")
                #expect(try await api.request(.POST, path, headers: stranger).status == 401)
            }
            let entries = try await trail(api)
            #expect(entries.map { $0["by"] as? String } == ["vic"])
            #expect(entries.first?["refused"] as? String == "not_allowed")
            #expect(entries.first?["action"] as? String == "pauseLane")
        }
    }

    @Test("traffic adds no audit entries")
    func traffic() async throws {
        try await run { api in
            let headers = bearer(Self.admin)
            for number in 0..<20 {
                let body = #"{"source":"src_\#(number)"}"#
                let made = try await api.request(.POST, "/v1/watches", body: body, headers: headers)
                #expect(made.status == 201)
            }
            #expect(try await trail(api).isEmpty)
        }
    }

    @Test("a bound key sees the entries of its account without the names of other keys")
    func bound() async throws {
        try await run { api in
            for path in ["acme/sources", "other/sources"] {
                let headers = bearer(Self.admin)
                _ = try await api.request(.POST, "/v1/lanes/\(path)/pause", headers: headers)
            }
            let headers = bearer(Self.acme)
            _ = try await api.request(.POST, "/v1/lanes/acme/sources/resume", headers: headers)
            let seen = try await trail(api, key: Self.acme)
            #expect(seen.map { $0["action"] as? String } == ["resumeLane", "pauseLane"])
            #expect(seen.map { $0["by"] as? String } == ["acme-admin", "another key"])
            #expect(seen.last?["address"] == nil && seen.last?["role"] == nil)
            #expect(try await trail(api, "by=ada", key: Self.acme).isEmpty)
            #expect(try await trail(api, "by=ada").count == 2)
            #expect(try await trail(api, "target=other/sources").count == 1)
            #expect(try await trail(api, "action=resumeLane").count == 1)
            #expect(try await trail(api, "until=2020-01-01T00:00:00.000Z").isEmpty)
        }
    }
}

/// An upstream that accepts every submission.
private struct AgreeingPayers: PayerUpstream {
    func verify(
        _ watch: Watch,
        with values: VerificationValues,
        timeout: Duration
    ) async -> VerificationResult { .accepted }

    func submit(
        _ account: RefundAccount,
        for watch: Watch,
        paidBy method: PaymentMethod,
        timeout: Duration
    ) async -> RefundAccountResult { .taken }
}

/// The objects to which each change applies.
private struct Stage {
    let api: LiveAPI
    let headers: [String: String]
    let endpoint: String
    let key: String

    init(_ api: LiveAPI, headers: [String: String]) async throws {
        self.api = api
        self.headers = headers
        let hook = #"{"url":"https://f.example/hook","headers":{"X-Auth":"header-secret"}}"#
        let made = try await api.request(.POST, "/v1/endpoints", body: hook, headers: headers)
        endpoint = try #require(made["id"], "\(made.text)")
        let requestBody = #"{"role":"viewer"}"#
        let key = try await api.request(.POST, "/v1/keys", body: requestBody, headers: headers)
        self.key = try #require(key["id"], "\(key.text)")
    }

    /// Returns a request that changes something through a route.
    ///
    /// A route without a request here fails the test.
    func request(_ route: RouteDescription) async throws -> (path: String, body: String?) {
        switch route.operation {
        case "cancelWatch": return (try await watch("c"), nil)
        case "redrive":
            _ = try await watch("q")
            try await api.bury("src_q", because: "nonsense")
            return ("/v1/quarantine/src_q/redrive", nil)
        case "dismissWatch":
            _ = try await watch("x")
            try await api.bury("src_x", because: "nonsense")
            return ("/v1/quarantine/src_x/dismiss", nil)
        case "redriveSetAsideEntry":
            return ("/v1/quarantine/entries/\(try await setAside("r"))/redrive", nil)
        case "dismissSetAsideEntry":
            return ("/v1/quarantine/entries/\(try await setAside("d"))/dismiss", nil)
        case "dismissWatches":
            _ = try await watch("dust")
            try await api.bury("src_dust", because: "nonsense")
            return ("/v1/watches/batch/dismiss", #"{"q":"src_dust"}"#)
        case "cancelWatches":
            _ = try await watch("many")
            return ("/v1/watches/batch/cancel", #"{"q":"src_many"}"#)
        case "redriveWatches":
            _ = try await watch("buried")
            try await api.bury("src_buried", because: "nonsense")
            return ("/v1/watches/batch/redrive", #"{"q":"src_buried"}"#)
        case "restoreWatches":
            return ("/v1/watches/batch/restore?trust=true", Archive.line("src_old"))
        case "verifyWatch":
            let path = try await watch("v")
            try await api.see("src_v", "pending", step: .enterCode(attemptsLeft: 3))
            return ("\(path)/verify", #"{"values":["98765"]}"#)
        case "giveRefundAccount":
            let path = try await watch("g")
            try await api.see("src_g", "pending", method: "multibanco")
            let body = #"{"holder":"A","iban":"DE89370400440532013000"}"#
            return ("\(path)/refund_attributes", body)
        case "createEndpoint":
            return ("/v1/endpoints", #"{"url":"https://g.example?k=query-secret"}"#)
        case "changeEndpoint":
            return (at(""), #"{"coalesce":true,"headers":{"X-Auth":"header-secret2"}}"#)
        case "testEndpoint": return (at("/test"), nil)
        case "rotateEndpointSecret", "rotateEndpoint": return (at("/rotate"), "{}")
        case "enableEndpoint":
            _ = try await api.request(.POST, at("/disable"), body: "{}", headers: headers)
            return (at("/enable"), nil)
        case "disableEndpoint":
            _ = try await api.request(.POST, at("/enable"), headers: headers)
            return (at("/disable"), #"{"reason":"too slow"}"#)
        case "deleteEndpoint", "removeEndpoint":
            let hook = #"{"url":"https://h.example/hook"}"#
            let made = try await api.request(.POST, "/v1/endpoints", body: hook, headers: headers)
            return ("/v1/endpoints/\(made["id"] ?? "")", nil)
        case "replayEndpoint", "startReplay": return (at("/replay"), #"{"status":"dead"}"#)
        case "retryDelivery":
            _ = try await api.request(.POST, at("/enable"), headers: headers)
            return ("/v1/deliveries/\(try await delivery())/retry", nil)
        case "dismissDelivery":
            return ("/v1/deliveries/\(try await deadDelivery())/dismiss", nil)
        case "pauseLane": return ("/v1/lanes/default/sources/pause", nil)
        case "resumeLane":
            let pause = "/v1/lanes/default/sources/pause"
            _ = try await api.request(.POST, pause, headers: headers)
            return ("/v1/lanes/default/sources/resume", nil)
        // A high limit, so that watches needed by other routes are also claimed.
        case "limitLane": return ("/v1/lanes/default/sources/limit", #"{"rate":3000,"burst":100}"#)
        case "liftSuppression":
            let bounce = #"{"recipient":"a@b.example","type":"hard_bounce"}"#
            _ = try await api.request(.POST, "/v1/mail/bounces", body: bounce, headers: headers)
            return ("/v1/mail/suppressions/a@b.example", nil)
        case "liftSuppressionEntry":
            let bounce = #"{"recipient":"b@b.example","type":"hard_bounce"}"#
            _ = try await api.request(.POST, "/v1/mail/bounces", body: bounce, headers: headers)
            let listed = try await api.get("/v1/mail/suppressions", headers: headers).list("data")
            let id = try #require(listed.first?["id"] as? String)
            return ("/v1/mail/entries/\(id)", nil)
        case "createKey": return ("/v1/keys", #"{"role":"viewer","name":"new"}"#)
        case "revokeKey": return ("/v1/keys/\(key)", nil)
        default:
            Issue.record("\(route.operation) is new: say here how it changes something")
            return (route.path, nil)
        }
    }

    private func at(_ action: String) -> String { "/v1/endpoints/\(endpoint)\(action)" }

    /// Sets an entry aside and returns its ID as a part of a path.
    private func setAside(_ name: String) async throws -> String {
        let suspect = Suspect(.hint, partition: 1, name: name, account: .main, about: "src_1")
        let at = Timestamp(ms: 1_795_165_200_125)
        let store = try #require(api.backend.setAside)
        let entry = SetAsideEntry(suspect, deaths: 3, firstAt: at, at: at)
        #expect(try await store.setAside(entry))
        return entry.id.replacing(":", with: "%3A")
    }

    /// Watches a source with this name.
    private func watch(_ name: String) async throws -> String {
        let body = #"{"source":"src_\#(name)","client_secret":"src_\#(name)_secret_x"}"#
        let made = try await api.request(.POST, "/v1/watches", body: body, headers: headers)
        #expect(made.status == 201, "\(made.text)")
        return "/v1/watches/src_\(name)"
    }

    /// Creates a waiting delivery.
    private func delivery(of name: String = "d") async throws -> String {
        _ = try await watch(name)
        let mark = DeliveryMark(
            endpoint: EndpointID(unchecked: endpoint),
            watch: WatchKey("src_\(name)")
        )
        try await api.backend.deliveries.mark([mark])
        return api.backend.deliveries.id(of: mark.endpoint, mark.watch).description
    }

    /// Creates a delivery with a dead letter.
    private func deadDelivery() async throws -> String {
        let id = try DeliveryID(try await delivery(of: "given_up"))
        let claim = try await api.backend.deliveries.claim(
            ClaimRequest(partition: id.partition, lease: .seconds(45))
        )
        let change = DeliveryChange(state: DeliveryState(cursor: 1, dead: [1]))
        for lease in claim.leases {
            _ = try await api.backend.deliveries.commit([
                Commit(ref: lease.ref, verdict: .setAside, change: change)
            ])
        }
        return id.description
    }
}

/// Delays the reads of a trail, and counts those that run at the same time.
///
/// A class, because the server and the test share it.
private final class SlowReads: Sendable {
    private let counts = Mutex((running: 0, most: 0))

    /// The highest number of concurrent reads.
    var most: Int { counts.withLock { $0.most } }

    func inFront(of trail: any AuditTrail) -> any AuditTrail { Slowed(base: trail, reads: self) }

    private struct Slowed: AuditTrail {
        let base: any AuditTrail
        let reads: SlowReads

        func note(
            _ change: AuditedChange
        ) async throws(StoreError) -> PollerOperations.AuditEntry {
            try await base.note(change)
        }

        func entries(
            _ query: AuditQuery
        ) async throws(StoreError) -> ListPage<PollerOperations.AuditEntry> {
            reads.counts.withLock { counts in
                counts.running += 1
                counts.most = max(counts.most, counts.running)
            }
            defer { reads.counts.withLock { $0.running -= 1 } }
            // Enough time for the other requests to arrive.
            try? await Task.sleep(for: .milliseconds(200))
            return try await base.entries(query)
        }
    }
}
