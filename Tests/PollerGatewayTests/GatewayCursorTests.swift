import PollerDeliveries
import PollerIdentity
import PollerOperations
import PollerQueue
import PollerTesting
import Testing

@testable import PollerGateway

@Suite("Live cursors")
struct GatewayCursorTests {
    private let cursor = GatewayCursor(
        roots: RootRing(fixed: [UInt8](repeating: 1, count: 32)),
        span: .seconds(60)
    )
    private static let digests = ["AAAAAA", "______", "aZ09-_", "AAAAAB", "zzzzzz"]
    private let main = Principal(name: "a", accounts: .some([.main]))

    @Test("any position that a store may hold is encoded and decoded without a trap")
    func extremes() {
        let most = UInt64.max
        let positions = [
            OutboxPosition.start, OutboxPosition(ms: most, n: most), OutboxPosition(ms: most, n: 0),
            OutboxPosition(ms: 0, n: most),
        ]
        for seq in [Int.min, -1, 0, 1 << 24, Int.max] {
            let mark = LiveCursor.Mark(watch: ItemID(of: "default", "source", "src_1"), seq: seq)
            let text = cursor.encode(LiveCursor(positions: positions, mark: mark), for: main)
            // A number of more than 63 bits is an invalid cursor, and the client begins with a snapshot.
            _ = cursor.decode(text, partitions: 4, for: main)
        }
    }

    @Test("a decoded cursor equals the encoded one")
    func roundTrip() {
        var generator = SeededGenerator(seed: 42)
        for count in [1, 4, 16, 64] {
            for _ in 0..<50 {
                let positions = (0..<count).map { _ in
                    Bool.random(using: &generator)
                        ? OutboxPosition.start
                        : OutboxPosition(
                            ms: UInt64.random(in: 0...1_900_000_000_000, using: &generator),
                            n: UInt64.random(in: 0...5000, using: &generator)
                        )
                }
                let original = LiveCursor(
                    positions: positions,
                    mark: Bool.random(using: &generator)
                        ? nil
                        : LiveCursor.Mark(
                            watch: ItemID(of: "default", "source", "src_1"),
                            seq: Int.random(in: 0...1_000_000, using: &generator),
                            digest: Bool.random(using: &generator)
                                ? nil : Self.digests.randomElement()
                        )
                )
                let text = cursor.encode(original, for: main)
                #expect(cursor.decode(text, partitions: count, for: main) == original)
            }
        }
    }

    @Test("a cursor from a store with fewer partitions resumes each new partition at its origin")
    func ofFewerPartitions() {
        let places = [OutboxPosition(ms: 1_795_165_200_125, n: 3), .start]
        let text = cursor.encode(LiveCursor(positions: places), for: main)
        let more = cursor.decode(text, partitions: 6, for: main)
        #expect(more?.positions == places + places + places)
        #expect(cursor.decode(text, partitions: 1, for: main) == nil)
    }

    @Test("a cursor does not reveal its positions, and its text differs each time")
    func sealed() throws {
        let positions = [OutboxPosition(ms: 1_795_165_200_125, n: 3), .start]
        let texts = (0..<2).map { _ in cursor.encode(LiveCursor(positions: positions), for: main) }
        #expect(texts[0] != texts[1])
        // The ms as a varint, as it would appear without encryption.
        let clear: [UInt8] = [0xFD, 0xBD, 0xBC, 0xC1, 0x9F, 0x34]
        for text in texts {
            let bytes = try #require(Base64URL.decode(text))
            #expect(bytes.firstRange(of: clear) == nil)
        }
    }

    /// Regression 9 (mercure#1215): a private id leaked in a cursor for other clients.
    @Test("regression 9: a cursor is valid only unaltered, for its account, store and secret")
    func forgery() {
        let positions = [OutboxPosition(ms: 1_795_165_200_125, n: 3), .start]
        let text = cursor.encode(LiveCursor(positions: positions), for: main)
        let other = Principal(name: "a", accounts: .some([AccountID(unchecked: "acct_2")]))
        #expect(cursor.decode(text, partitions: 2, for: other) == nil)
        #expect(
            cursor.decode(text, partitions: 2, for: Principal(name: "a", accounts: .all)) == nil
        )
        #expect(cursor.decode(text, partitions: 3, for: main) == nil)
        let stranger = GatewayCursor(
            roots: RootRing(fixed: [UInt8](repeating: 2, count: 32)),
            span: .seconds(60)
        )
        #expect(stranger.decode(text, partitions: 2, for: main) == nil)
        for index in text.indices {
            var altered = text
            let replacement: Character = text[index] == "A" ? "B" : "A"
            altered.replaceSubrange(index...index, with: [replacement])
            #expect(cursor.decode(altered, partitions: 2, for: main) == nil)
        }
        for bad in ["", "A", "====", text + "A", String(repeating: "A", count: 100_000)] {
            #expect(cursor.decode(bad, partitions: 2, for: main) == nil)
        }
    }
}
