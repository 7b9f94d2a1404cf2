import Foundation
import Logging
import PollerDeliveries
import PollerIdentity
import PollerOperations
import PollerQueue
import PollerWatches
import RedisClient
import Testing

@testable import PollerPayments
@testable import PollerRedis

/// A store with planted secrets, read like a stolen copy.
@Suite("Secrets in a real Redis")
struct SealedStoreTests {
    private static let one = "00112233445566778899aabbccddeeff0123456789abcdeffedcba9876543210"
    private static let two = "ffeeddccbbaa998877665544332211000123456789abcdeffedcba9876543210"
    private static let learned = "src_client_secret_canarylearned"
    private static let given = "src_2_secret_canarygiven"
    private static let header = "Bearer canaryheader"
    /// A secret that is too long for the record of its watch.
    private static let long = "src_6_secret_canarylong" + String(repeating: "x", count: 60)
    private static let planted = ["canarylearned", "canarygiven", "canarylong", "canaryheader"]

    /// A cluster as processes with these keys use it.
    private struct Rig {
        let client: RedisClient
        let layout: StoreLayout
        let keys: MasterKeys
        let watches: RedisWatchStore
        let endpoints: RedisEndpointStore
        let secrets: RedisSecrets

        init(_ client: RedisClient, _ keys: MasterKeys) async throws {
            self.client = client
            self.keys = keys
            layout = try await StoreLayout.created(on: client, partitions: 4)
            var logger = Logger(label: "sealed")
            logger.logLevel = .error
            let gate = SealingGate()
            watches = RedisWatchStore(
                RedisPartitions(
                    client: client,
                    layout: layout,
                    masterKeys: keys,
                    sealing: gate,
                    logger: logger
                )
            )
            endpoints = RedisEndpointStore(
                client: client,
                layout: layout,
                masterKeys: keys,
                sealing: gate,
                logger: logger
            )
            secrets = RedisSecrets(client: client, layout: layout, masterKeys: keys, gate: gate)
        }

        /// Returns all stored data as one text.
        func dump() async throws -> String {
            var text = ""
            for key in try await client.send(RedisCommand("KEYS", ["t:*"])).array ?? [] {
                let key = key.string ?? ""
                let type = try await client.send(RedisCommand("TYPE", [.string(key)])).string
                let read: RedisCommand =
                    switch type {
                    case "hash": RedisCommand("HGETALL", [.string(key)])
                    case "list": RedisCommand("LRANGE", [.string(key), 0, -1])
                    case "zset": RedisCommand("ZRANGE", [.string(key), 0, -1])
                    case "stream": RedisCommand("XRANGE", [.string(key), "-", "+"])
                    default: RedisCommand("GET", [.string(key)])
                    }
                text += "\(key) \(try await client.send(read))\n"
                // Bytes are printed as numbers, so they are added as text, too.
                for value in Self.flat(try await client.send(read)) {
                    text += String(decoding: value.bytes ?? [], as: UTF8.self) + "\n"
                }
            }
            return text
        }

        private static func flat(_ value: RedisValue) -> [RedisValue] {
            value.array.map { $0.flatMap(flat) } ?? [value]
        }

        /// Returns the stored record of an endpoint.
        func record(_ id: String) async throws -> String {
            let key = layout.deliveryKeys.endpoints
            let read = RedisCommand("HGET", [.string(key), .string(id)])
            return try await client.send(read).string ?? ""
        }

        func setRecord(_ id: String, _ value: String) async throws {
            let key = layout.deliveryKeys.endpoints
            let write = RedisCommand("HSET", [.string(key), .string(id), .string(value)])
            _ = try await client.send(write)
        }

        func rekey() async throws -> (sealed: Int, unopened: Int) {
            let roots = try await secrets.reseal()
            let (sealed, unopened) = try await walk()
            if unopened == 0 { try await secrets.removeUnusedKeys() }
            return (roots + sealed, unopened)
        }

        func walk() async throws -> (sealed: Int, unopened: Int) {
            var (sealed, unopened) = (0, 0)
            let walk = RedisRekey(client: client, layout: layout, masterKeys: keys)
            for part in RedisRekey.Part.allCases {
                var cursor: String?
                repeat {
                    let page = try await walk.step(part, after: cursor)
                    sealed += page.sealed
                    unopened += page.unopened.count
                    cursor = page.next
                } while cursor != nil
            }
            return (sealed, unopened)
        }
    }

    private static func key(_ source: String) -> WatchKey {
        WatchKey(account: .main, source: SourceID(unchecked: source), kind: .source)
    }

    private static let endpointID = EndpointID(unchecked: "ep_1")

    private func plant(_ rig: Rig) async throws -> WebhookSecret {
        try await rig.secrets.prepare()
        _ = try await rig.secrets.roots()
        _ = try await rig.watches.enqueue([
            try NewWatch(key: Self.key("src_1")),
            try NewWatch(
                key: Self.key("src_2"),
                clientSecret: ClientSecret(Self.given),
                charge: .whole
            ),
            try NewWatch(key: Self.key("src_6"), clientSecret: ClientSecret(Self.long)),
        ])
        // The form that the commit of a poll leaves.
        let item = Self.key("src_1").id.description
        let packed = PackedSecret.packed(Self.learned, SourceID(unchecked: "src_1")) ?? ""
        let location = SealedLocation.learned(item, .main)
        let partition = rig.watches.partition(of: Self.key("src_1"))
        _ = try await rig.client.send(
            RedisCommand(
                "HSET",
                [
                    "t:w{\(partition)}\(item)", "p",
                    .bytes(rig.keys.seal(bytes: Array(packed.utf8), at: location)),
                ]
            )
        )
        var generator = SystemRandomNumberGenerator()
        let secret = WebhookSecret(using: &generator)
        var endpoint = Endpoint(
            id: Self.endpointID,
            account: .main,
            url: try NotifyURL("https://shop.example/hook"),
            secrets: [EndpointSecret(secret)]
        )
        endpoint.headers = [try EndpointHeader("authorization", Self.header)]
        _ = try await rig.endpoints.create(endpoint, request: nil)
        return secret
    }

    private func check(_ rig: Rig, _ secret: WebhookSecret) async throws {
        let one = try await rig.watches.snapshot(of: Self.key("src_1"))?.watch
        let two = try await rig.watches.snapshot(of: Self.key("src_2"))?.watch
        #expect(one?.clientSecret?.reveal == Self.learned)
        #expect(two?.clientSecret?.reveal == Self.given && two?.charge != nil)
        let six = try await rig.watches.snapshot(of: Self.key("src_6"))?.watch
        #expect(six?.clientSecret?.reveal == Self.long)
        let endpoint = try await rig.endpoints.read(Self.endpointID)?.endpoint
        #expect(endpoint?.secrets.map(\.secret) == [secret])
        #expect(endpoint?.headers.map(\.value) == [Self.header])
    }

    @Test("a dump of Redis contains secrets in plain text only when no master key is set")
    func sealed() async throws {
        for keys in [try MasterKeys(Self.one), .none] {
            try await withRedis { client in
                let rig = try await Rig(client, keys)
                let secret = try await plant(rig)
                let root = Base64URL.encode(try await rig.secrets.roots().newest)
                let dump = try await rig.dump()
                for canary in Self.planted + [String(secret.reveal.dropFirst(6)), root] {
                    #expect(dump.contains(canary) == keys.isEmpty, "\(canary)")
                }
                try await check(rig, secret)
            }
        }
    }

    @Test("an endpoint with the payload of another release is not understood")
    func foreignPayload() throws {
        for (payload, isKnown) in [("full", true), ("thin", true), ("slim", false)] {
            let record = #"1 2 main {"payload":"\#(payload)","url":"https://a.example/"}"#
            let endpoint = try EndpointRecord.endpoint("ep_1", record, openedBy: .none)
            #expect(endpoint?.payload.rawValue == (isKnown ? payload : nil))
            let head = EndpointRecord.foreign("ep_1", record)
            #expect(head.account?.description == "main" && head.updatedAt == Timestamp(ms: 2))
        }
    }

    @Test("secrets in a record of another release get the new key, and a damaged record is counted")
    func foreignRecords() async throws {
        try await withRedis { client in
            let old = try await Rig(client, try MasterKeys(Self.one))
            let secret = try await plant(old)
            let id = Self.endpointID.description
            let known = try await old.record(id)
            // Another release has written a schedule and a member that are unknown here.
            let foreign = known.replacing(
                "\"secrets\"",
                with: "\"later\":{\"value\":[1.50,\"\u{e9}\"]},\"retry\":\"slow\",\"secrets\""
            )
            try #require(foreign != known)
            try await old.setRecord(id, foreign)
            let both = try await Rig(client, try MasterKeys("\(Self.two) \(Self.one)"))
            try await both.secrets.prepare()
            #expect(try await both.rekey().unopened == 0)
            let second = try await Rig(client, try MasterKeys(Self.two))
            try await second.secrets.prepare()
            let kept = try await second.record(id)
            #expect(kept.contains("\"later\":{\"value\":[1.50,\"\u{e9}\"]},\"retry\":\"slow\""))
            await #expect(throws: StoreError.self, "it is not understood") {
                try await second.endpoints.read(Self.endpointID)
            }
            let ours = kept.replacing(",\"retry\":\"slow\"", with: "")
            try await second.setRecord(id, ours)
            try await check(second, secret)
            #expect(try await second.rekey() == (0, 0))
            for damaged in ["", "1 2 main", "1 2 main {", "1 2 main {\"secrets\":[{}]}"] {
                try await second.setRecord("ep_damaged", damaged)
                #expect(try await second.rekey().unopened == 1, "\(damaged)")
            }
        }
    }

    @Test("a process with only the old key is detected, and rejects requests that store secrets")
    func leftBehind() async throws {
        try await withRedis { client in
            let old = try await Rig(client, try MasterKeys(Self.one))
            _ = try await plant(old)
            let both = try await Rig(client, try MasterKeys("\(Self.two) \(Self.one)"))
            try await both.secrets.prepare()
            #expect(try await both.rekey().unopened == 0)
            #expect(try await both.secrets.encryptionStatus().otherKeys == [])
            let secret = try NewWatch(key: Self.key("src_3"), clientSecret: ClientSecret("x"))
            await #expect(throws: SealError.self) { try await old.secrets.refresh() }
            #expect(try await both.secrets.encryptionStatus().otherKeys == old.keys.ids)
            #expect(old.secrets.gate.refusal != nil)
            let endpoint = Endpoint(
                id: EndpointID(unchecked: "ep_2"),
                account: .main,
                url: try NotifyURL("https://shop.example/hook")
            )
            await #expect(throws: StoreError.self) {
                try await old.endpoints.create(endpoint, request: nil)
            }
            await #expect(throws: StoreError.self) { try await old.watches.enqueue([secret]) }
            // Requests without secrets continue, and so do all requests of a process that has the keys.
            #expect(try await old.watches.enqueue([NewWatch(key: Self.key("src_4"))]).count == 1)
            _ = try await both.secrets.refresh()
            #expect(try await both.watches.enqueue([secret]).count == 1)
            let second = try await Rig(client, try MasterKeys(Self.two))
            await #expect(throws: SealError.self) { try await second.secrets.prepare() }
            #expect(try await both.rekey().unopened == 0)
            try await second.secrets.prepare()
        }
    }

    @Test("a plain store is encrypted and then rekeyed, after which the old key is not needed")
    func rekeying() async throws {
        try await withRedis { client in
            let clear = try await Rig(client, .none)
            let secret = try await plant(clear)
            let root = try await clear.secrets.roots()
            let first = try await Rig(client, try MasterKeys(Self.one))
            try await first.secrets.prepare()
            #expect(try await first.secrets.encryptionStatus().isPlain)
            try await check(first, secret)
            #expect(try await first.rekey() == (5, 0))
            #expect(try await first.rekey() == (0, 0))
            #expect(
                try await first.secrets.encryptionStatus()
                    == RedisSecrets.EncryptionStatus(otherKeys: [], isPlain: false)
            )
            let dump = try await first.dump()
            for canary in Self.planted { #expect(!dump.contains(canary)) }

            let both = try await Rig(client, try MasterKeys("\(Self.two) \(Self.one)"))
            try await both.secrets.prepare()
            #expect(try await both.secrets.encryptionStatus().otherKeys == first.keys.ids)
            #expect(try await both.rekey() == (5, 0))
            let second = try await Rig(client, try MasterKeys(Self.two))
            try await second.secrets.prepare()
            try await check(second, secret)
            #expect(try await second.secrets.roots() == root)
        }
    }

    @Test("nothing is encrypted again while a repartition moves watches")
    func repartition() async throws {
        try await withRedis { client in
            let rig = try await Rig(client, try MasterKeys(Self.one))
            _ = try await plant(rig)
            let work = RedisRepartition(
                client: client,
                layout: rig.layout,
                owner: OwnerID(unchecked: "AAAAAAAAAAA"),
                logger: Logger(label: "sealed")
            )
            #expect(try await work.acquireLock(for: .seconds(30)))
            await #expect(throws: StoreError.self) { _ = try await rig.walk() }
            try await work.releaseLock()
            #expect(try await rig.walk().unopened == 0)
        }
    }

    @Test("a process without a key in use does not start and creates no second root")
    func wrongKey() async throws {
        try await withRedis { client in
            let rig = try await Rig(client, try MasterKeys(Self.one))
            let secret = try await plant(rig)
            let root = try await rig.secrets.roots()
            for keys in [try MasterKeys(Self.two), .none] {
                let wrong = try await Rig(client, keys)
                let error = await #expect(throws: SealError.self) {
                    try await wrong.secrets.prepare()
                }
                #expect(error.map { "\($0)".contains(rig.keys.ids[0]) } == true)
                await #expect(throws: SealError.self) { try await wrong.secrets.roots() }
                // A process that runs when others begin to encrypt waits instead of skipping an endpoint.
                await #expect(throws: StoreError.self) {
                    try await wrong.endpoints.changes(since: 0, isContinuing: false)
                }
                let watch = try await wrong.watches.snapshot(of: Self.key("src_2"))?.watch
                #expect(watch != nil && watch?.clientSecret?.reveal == nil)
                #expect(try await wrong.walk().unopened == 4)
            }
            try await check(rig, secret)
            #expect(try await rig.secrets.roots() == root)
        }
    }

    @Test("rekeying does not overwrite a value that has changed since it was read")
    func race() async throws {
        try await withRedis { client in
            let clear = try await Rig(client, .none)
            _ = try await plant(clear)
            let value = try await client.run(
                .reencrypt,
                ["t:secrets"],
                ["cursor", "another", "new", "plain", "1", "2"]
            )
            #expect(value.int == 1)
            #expect(
                try await client.send(RedisCommand("HGET", ["t:secrets", "plain"])).string == "2"
            )
            #expect(
                try await client.send(RedisCommand("HGET", ["t:secrets", "cursor"])).string != "new"
            )
        }
    }

    @Test("roots rotate once per overlap, and the root of email links does not change")
    func roots() async throws {
        try await withRedis { client in
            let rig = try await Rig(client, try MasterKeys(Self.one))
            try await rig.secrets.prepare()
            let now = Timestamp(ms: 1_795_165_200_000)
            let hour = Duration.seconds(3600)
            let before = try await rig.secrets.roots()
            #expect(try await rig.secrets.mailRoot() == before.newest)
            let since = try await rig.secrets.rotate(now: now, overlap: hour)
            #expect(since == now + Roots.notice)
            let after = try await rig.secrets.roots()
            #expect(after.former == before.newest && after.since == since)
            #expect(after.newest != before.newest)
            #expect(try await rig.secrets.mailRoot() == before.newest)
            await #expect(throws: InvalidInput.self) {
                try await rig.secrets.rotate(now: since + .seconds(3599), overlap: hour)
            }
            _ = try await rig.secrets.rotate(now: since + hour, overlap: hour)
            #expect(try await rig.secrets.roots().former == after.newest)
            #expect(try await rig.secrets.mailRoot() == before.newest)
            try await rig.secrets.prepare()
        }
    }

    @Test("inline webhook secrets differ by account and are the same after a restart")
    func inline() async throws {
        try await withRedis { client in
            let rig = try await Rig(client, .none)
            let fresh = try await rig.secrets.inline(configured: nil)
            let again = try await rig.secrets.inline(configured: nil)
            let acme = AccountID(unchecked: "acme")
            #expect(again.main == fresh.main && again.secret(of: acme) == fresh.secret(of: acme))
            #expect(fresh.secret(of: acme) != fresh.main)
        }
    }
}
