import Logging
import PollerDeliveries
import PollerIdentity
import PollerQueue
import PollerTesting
import PollerWatches
import RedisClient
import Testing

@testable import PollerRedis

@Suite("Delivery marks in a real Redis")
struct DeliveryMarksTests {
    private let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    private let watch = WatchKey("src_1")

    private func mark() throws -> DeliveryMark {
        DeliveryMark(url: try NotifyURL("https://a.example/hook"), watch: watch)
    }

    private func layout(_ client: RedisClient) async throws -> StoreLayout {
        try await StoreLayout.created(on: client, partitions: 2)
    }

    @Test("marking fails when too few replicas have the mark")
    func durability() async throws {
        try await withRedis { client in
            let queue = RedisDeliveryQueue(
                client: client,
                layout: try await layout(client),
                durability: RedisDurability(replicas: 1, timeout: .milliseconds(50)),
                logger: logger
            )
            let mark = try mark()
            await #expect(throws: StoreError.self) { try await queue.mark([mark]) }
            // The mark exists anyway: the outbox entry is read again and marks it again.
            #expect(try await queue.stats().pending == 1)
        }
    }

    @Test("deliveries marked together are due once each, and their index stays compact")
    func together() async throws {
        try await withRedis { client in
            let layout = try await layout(client)
            let queue = RedisDeliveryQueue(client: client, layout: layout, logger: logger)
            func marks(_ numbers: Range<Int>, isUrgent: Bool = true) -> [DeliveryMark] {
                numbers.map { number in
                    DeliveryMark(
                        endpoint: EndpointID(unchecked: "ep_\(number % 3)"),
                        watch: WatchKey("src_\(number)"),
                        isUrgent: isUrgent
                    )
                }
            }
            // Normal ones become urgent, urgent ones stay so, and the rest are new.
            try await queue.mark(marks(0..<100, isUrgent: false))
            try await queue.mark(marks(50..<450))
            try await queue.mark(marks(0..<450, isUrgent: false))
            #expect(try await queue.stats().pending == 450)
            let keys = layout.deliveryKeys
            func members(_ kind: KeyKind, _ name: String, _ partition: Int) async throws -> Int {
                let key = RedisArgument.string(keys.list(kind, name, partition))
                return try await client.send(RedisCommand("ZCARD", [key])).int ?? 0
            }
            var (urgent, normal, indexed) = (0, 0, 0)
            for partition in 0..<2 {
                for number in 0..<3 {
                    urgent += try await members(.urgent, "ep_\(number)", partition)
                    normal += try await members(.normal, "ep_\(number)", partition)
                }
                let leaves = RedisArgument.string(keys.list(.openCreated, "", partition))
                let names = try await client.send(RedisCommand("ZRANGE", [leaves, "0", "-1"]))
                for name in (names.array ?? []).compactMap(\.string) {
                    let count = try await members(.openCreated, name, partition)
                    #expect(count <= 100)
                    indexed += count
                }
            }
            #expect(urgent == 400 && normal == 50 && indexed == 450)
        }
    }

    @Test("a promoted server starts another history and ignores notes for the old one")
    func promotion() async throws {
        try await withRedis { client in
            let queue = RedisDeliveryQueue(
                client: client,
                layout: try await layout(client),
                logger: logger
            )
            let first = try await queue.watermark(partition: 1)
            let instant = Timestamp(ms: 1_795_165_200_000)
            try await queue.note(partition: 1, markedBefore: instant, in: first.history)
            // The replica of a missing master is promoted, and continues with its own data.
            _ = try await client.send(RedisCommand("REPLICAOF", ["127.0.0.1", "1"]))
            _ = try await client.send(RedisCommand("REPLICAOF", ["NO", "ONE"]))
            let second = try await queue.watermark(partition: 1)
            #expect(second.history != first.history && second.history.count == 40)
            #expect(second.noted == first.history && second.markedBefore == instant)
            let later = instant + .seconds(60)
            try await queue.note(partition: 1, markedBefore: later, in: first.history)
            #expect(try await queue.watermark(partition: 1) == second)
            try await queue.note(partition: 1, markedBefore: later, in: second.history)
            let third = try await queue.watermark(partition: 1)
            #expect(third.noted == second.history && third.markedBefore == later)
        }
    }

    @Test("a stored delivery state is read with and without the optional values at its end")
    func storedTexts() async throws {
        try await withRedis { client in
            let layout = try await layout(client)
            let queue = RedisDeliveryQueue(client: client, layout: layout, logger: logger)
            let mark = try mark()
            try await queue.mark([mark])
            let id = queue.id(of: mark.endpoint, watch)
            let key = "t:d:w{\(id.partition)}\(id.item)"
            let since = Timestamp(ms: 1_795_165_200_000)
            for (text, state) in [
                ("3|0|4|", DeliveryState(cursor: 3, attempts: 4)),
                (
                    "5|1|9|1795165200000|1795165200000|4|2,3|3",
                    DeliveryState(
                        cursor: 5,
                        failures: 1,
                        attempts: 9,
                        retryAt: since,
                        failedSince: since,
                        escalated: 4,
                        dead: [2, 3],
                        again: [3]
                    )
                ),
            ] {
                let write = RedisCommand("HSET", [.string(key), "v", .string(text)])
                _ = try await client.send(write)
                #expect(try await queue.delivery(id)?.delivery.state == state)
            }
        }
    }
}
