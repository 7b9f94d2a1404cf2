import PollerIdentity
import PollerQueue
import PollerTesting
import RedisClient
import Testing

@testable import PollerRedis

/// The commands of `pollerd migrate`, with a format that no release has.
@Suite("Migration of a store", .timeLimit(.minutes(5)))
struct StoreMigrationTests {
    /// A program of release 1.1.0 that writes format 2.
    private static let planted = StoreVersion(steps: [
        StoreVersion.Step(form: 2, release: "1.1.0", change: "events are stored in another way")
    ])

    private static func member(_ owner: String, version: String, form: Int) -> Member {
        Member(
            owner: OwnerID(unchecked: owner),
            roles: "worker",
            pid: 7,
            host: "h",
            version: version,
            startedAt: Timestamp(ms: 5),
            inFlight: 0,
            storeFormat: form,
            partitions: RedisHarness.partitionCount
        )
    }

    private func migration(
        _ harness: RedisHarness,
        _ version: StoreVersion = planted
    ) async throws -> StoreMigration {
        let namespace = harness.layout.namespace
        return StoreMigration(
            client: harness.client,
            layout: try await StoreLayout.loadOrCreate(on: harness.client, namespace: namespace),
            members: harness.members,
            version: version
        )
    }

    @Test("a new store has the newest form and needs no migration")
    func live() async throws {
        try await withRedis { client in
            #expect(StoreVersion.live.current == 1 && StoreVersion.live.steps.isEmpty)
            let harness = try await RedisHarness(client: client)
            let one = Self.member("AAAAAAAAAAA", version: "1.0.0", form: 1)
            _ = try await harness.members.beat(one, for: .seconds(60))
            let migration = try await migration(harness, .live)
            let state = "the store has form 1, the newest"
            #expect(try await migration.plan() == .init(lines: [state], isSuccessful: true))
            #expect(try await migration.apply() == .init(lines: [state], isSuccessful: true))
            let verified = try await migration.verify()
            #expect(
                verified == .init(lines: [state, "every process writes it"], isSuccessful: true)
            )
        }
    }

    @Test("a migration step requires newer programs first and restarted processes afterwards")
    func step() async throws {
        try await withRedis { client in
            let harness = try await RedisHarness(client: client, form: 1)
            let namespace = harness.layout.namespace
            let old = Self.member("AAAAAAAAAAA", version: "1.0.3", form: 1)
            let new = Self.member("BBBBBBBBBBB", version: "1.1.0-debug", form: 1)
            for member in [old, new] {
                _ = try await harness.members.beat(member, for: .seconds(60))
            }
            let older = "older, to be upgraded first: worker on h, process 7, version 1.0.3"
            let plan = try await migration(harness).plan()
            #expect(
                plan.lines == [
                    "the store has form 1; this program writes up to 2:",
                    "  form 2: events are stored in another way", older,
                    "next: upgrade these, and ask again",
                ]
            )
            let refused = try await migration(harness).apply()
            #expect(refused == .init(lines: [older], isSuccessful: false))
            #expect(try await StoreVersion.live.refusal(on: client, namespace: namespace) == nil)

            try await harness.members.leave(old.owner)
            let ready = try await migration(harness).plan()
            #expect(ready.lines.last == "next: pollerd migrate apply")
            #expect(try await migration(harness).apply().isSuccessful)
            #expect(
                try await StoreVersion.live.refusal(on: client, namespace: namespace)
                    == .tooNew(form: 2, readable: 1, release: "1.1.0")
            )
            #expect(try await Self.planted.refusal(on: client, namespace: namespace) == nil)

            let behind = try await migration(harness).verify()
            #expect(!behind.isSuccessful)
            #expect(
                behind.lines == [
                    "the store has form 2, the newest",
                    "started before, to be restarted: worker on h, process 7",
                ]
            )
            let restarted = Self.member("BBBBBBBBBBB", version: "1.1.0-debug", form: 2)
            _ = try await harness.members.beat(restarted, for: .seconds(60))
            #expect(try await migration(harness).verify().isSuccessful)
        }
    }

    @Test("a store in an unreadable form is refused, and the error names the action to take")
    func refusals() async throws {
        try await withRedis { client in
            func refusal(_ version: StoreVersion, _ fields: String...) async throws -> String? {
                _ = try await client.send(RedisCommand("DEL", ["t:layout"]))
                if !fields.isEmpty {
                    let values = fields.map { RedisArgument.string($0) }
                    _ = try await client.send(RedisCommand("HSET", ["t:layout"] + values))
                }
                return try await version.refusal(on: client, namespace: "t")?.description
            }
            #expect(try await refusal(.live) == nil, "an empty one")
            #expect(try await refusal(.live, "format", "1") == nil, "one that is being made")
            // The fields that builds before the first release used.
            for field in ["reader", "form"] {
                let unreleased = try await refusal(.live, "partitions", "16", field, "1")
                #expect(unreleased?.contains("before release 1.0.0") == true, "\(field)")
            }
            let newer = try await refusal(.live, "partitions", "16", "format", "2")
            #expect(newer?.contains("start a newer pollerd") == true, "\(newer ?? "")")
            let later = StoreVersion(oldest: 2, steps: [])
            let older = try await refusal(later, "partitions", "16", "format", "1")
            #expect(older?.contains("pollerd migrate apply") == true, "\(older ?? "")")
            await #expect(throws: StoreError.self) {
                try await refusal(.live, "partitions", "16", "format", "new")
            }
        }
    }
}
