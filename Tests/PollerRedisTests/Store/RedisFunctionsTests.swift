import Logging
import PollerIdentity
import PollerQueue
import PollerTesting
import PollerWatches
import RedisClient
import Testing

@testable import PollerRedis

/// The scripts as functions, whose variables Redis keeps from one call to the next.
@Suite("Redis functions of one library", .timeLimit(.minutes(5)))
struct RedisFunctionsTests {
    private let owner = OwnerID(unchecked: "AAAAAAAAAAA")

    @Test("functions and scripts have the same text and the same flags")
    func texts() {
        let library = Scripts.live.library.source
        #expect(Scripts.live.library.name != Scripts.virtual.library.name)
        for name in ScriptName.allCases {
            let lines = Scripts.live[name].source.split(
                separator: "\n",
                omittingEmptySubsequences: false
            )
            let flags = lines[0].split(separator: "flags=").dropFirst().first.map { "'\($0)'" }
            let head =
                "function_name = LIBRARY .. '_\(name.rawValue)',\nflags = { \(flags ?? "") },"
            #expect(library.contains(head), "\(name) has other rights")
            let end = lines.suffix(5).joined(separator: "\n")
            #expect(library.contains(end), "\(name) is not in the library")
        }
    }

    @Test("describing a value that holds scripts prints their names, not their sources")
    func description() {
        struct Service {
            let scripts = Scripts.live
            let script = Scripts.live[.claim]
        }
        #expect("\(Service())".count < 300)
        #expect("\([Scripts.live[.claim].function])".count < 300)
    }

    @Test("a call sees no state of the previous call, even for a lane of the same name")
    func calls() async throws {
        try await withRedis { client in
            let one = try await RedisHarness(client: client)
            let other = try await RedisHarness(client: client)
            let key = watch("acct_a", 1)
            // The lane has the same name and, in the same partition, other contents.
            _ = try await one.watches.enqueue([try NewWatch(key: key)])
            _ = try await other.watches.enqueue([
                try NewWatch(key: key), try NewWatch(key: watch("acct_a", 2)),
            ])
            for _ in 0..<3 {
                #expect(try await claim(one, key, most: 1) <= 1)
                #expect(try await claim(other, key, most: 1) <= 1)
            }
            #expect(try await one.lanes.lane(key.lane)?.inFlight == 1)
            #expect(try await other.lanes.lane(key.lane)?.inFlight == 2)
            #expect(try await one.audit() + other.audit() == [])
        }
    }

    @Test("a call that fails halfway leaves no state for the next call")
    func errors() async throws {
        try await withRedis { client in
            let broken = try await RedisHarness(client: client)
            let sound = try await RedisHarness(client: client)
            let key = watch("acct_a", 1)
            for harness in [broken, sound] {
                _ = try await harness.watches.enqueue([try NewWatch(key: key)])
            }
            // The claim reads the lane and counts in it before it gets here.
            let leases = "\(broken.layout.watchKeys.namespace)f{\(broken.partition(of: key.lane))}"
            _ = try await client.send(RedisCommand("SET", [.string(leases), "no hash"]))
            await #expect(throws: StoreError.self) { try await claim(broken, key, most: 5) }
            #expect(try await sound.lanes.lane(key.lane)?.inFlight == 0)
            #expect(try await claim(sound, key, most: 5) == 1)
            #expect(try await sound.lanes.lane(key.lane)?.inFlight == 1)
            #expect(try await sound.audit() == [])
        }
    }

    @Test("with functions a full store still claims existing items and rejects new ones")
    func full() async throws {
        try await withRedis { client in
            let harness = try await RedisHarness(client: client)
            let key = watch("acct_a", 1)
            _ = try await harness.watches.enqueue([try NewWatch(key: key)])
            _ = try await client.send(RedisCommand("CONFIG", ["SET", "maxmemory", "1"]))
            #expect(try await claim(harness, key, most: 1) == 1)
            await #expect(throws: StoreError.full) {
                _ = try await harness.watches.enqueue([try NewWatch(key: watch("acct_b", 1))])
            }
            let stats = try await client.send(RedisCommand("INFO", ["commandstats"])).string ?? ""
            #expect(!stats.contains("cmdstat_evalsha:"))
        }
    }

    @Test("only libraries of releases that no process runs are removed")
    func removed() async throws {
        try await withRedis { client in
            let layout = try await StoreLayout.created(on: client, partitions: 4)
            let functions = RedisFunctions(
                client: client,
                layout: layout,
                logger: Logger(label: "functions") { _ in SwiftLogNoOpLogHandler() }
            )
            _ = try await RedisMembership(client: client, layout: layout)
                .beat(member(version: "1.1"), for: .seconds(30))
            for name in ["poller_gone", "poller_alive", "poller_new", "poller_others", "theirs"] {
                let source = """
                    #!lua name=\(name)
                    redis.register_function('\(name)_run', function() return 1 end)
                    """
                _ = try await client.send(RedisCommand("FUNCTION", ["LOAD", .string(source)]))
            }
            let now = try await client.send(RedisCommand("TIME")).array?.first?.int ?? 0
            for (name, note) in [
                ("poller_gone", "\((now - 7200) * 1000) 1.0"),
                ("poller_alive", "\((now - 7200) * 1000) 1.1"),
                ("poller_new", "\((now - 60) * 1000) 1.0"), ("theirs", "0 1.0"),
            ] {
                let command = RedisCommand("HSET", ["t:functions", .string(name), .string(note)])
                _ = try await client.send(command)
            }
            await functions.prepare(release: "1.2")
            let listed = try await client.send(RedisCommand("FUNCTION", ["LIST"])).array ?? []
            #expect(
                Set(listed.compactMap { $0.array?[1].string }) == [
                    "poller_alive", "poller_new", "poller_others", "theirs",
                    Scripts.live.library.name,
                ]
            )
            let noted = try await client.send(RedisCommand("HKEYS", ["t:functions"])).array ?? []
            #expect(
                Set(noted.compactMap(\.string)) == [
                    "poller_alive", "poller_new", "theirs", Scripts.live.library.name,
                ]
            )
        }
    }

    @Test("a library is obsolete if no process runs it or none has started with it for a month")
    func over() {
        let now = Timestamp(ms: 40 * 86_400_000)
        func isRemovable(_ days: Int64, _ release: String) -> Bool {
            RedisFunctions.isRemovable("\(now.ms - days * 86_400_000) \(release)", ["1.1"], now)
        }
        #expect(!isRemovable(0, "1.0"))
        #expect(isRemovable(1, "1.0"))
        #expect(!isRemovable(29, "1.1"))
        #expect(isRemovable(31, "1.1"))
        #expect(RedisFunctions.isRemovable("nonsense", [], now))
    }

    private func watch(_ account: String, _ number: Int) -> WatchKey {
        WatchKey("src_\(number)", of: AccountID(unchecked: account))
    }

    /// Returns the number of items that a claim in the key's partition takes.
    private func claim(_ harness: RedisHarness, _ key: WatchKey, most: Int) async throws -> Int {
        let request = ClaimRequest(
            partition: harness.partition(of: key.lane),
            limit: most,
            owner: owner
        )
        return try await harness.watches.claim(request).leases.count
    }

    private func member(version: String) -> Member {
        Member(
            owner: owner,
            roles: "worker",
            pid: 1,
            host: "h",
            version: version,
            startedAt: Timestamp(ms: 1),
            inFlight: 0
        )
    }
}
