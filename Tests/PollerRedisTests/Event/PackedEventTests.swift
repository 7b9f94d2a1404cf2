import JSONText
import PollerIdentity
import PollerTesting
import PollerWatches
import Testing

@testable import PollerDeliveries
@testable import PollerRedis

/// The stored form of events.
@Suite struct PackedEventTests {
    private static let key = WatchKey(
        "src_dMA0UqTZMfePkLrgeaqCwjjt",
        of: AccountID(unchecked: "default")
    )

    private static let source = key.source.description

    /// An event as a worker has recorded it.
    private static let json = #"""
        {"id":"evt_6ZtbRxZ23nYkEDsyVo7Fi7E_","type":"source.consumed","account":"default",\#
        "source":"src_dMA0UqTZMfePkLrgeaqCwjjt","kind":"source","order":"A77","seq":5,"run":1,\#
        "previous_status":"chargeable","status":"consumed","final":true,"closed_reason":"settled",\#
        "payment":{"state":"paid","amount":1099,"amount_received":1099,"currency":"eur",\#
        "method":"ideal","paid_at":"2026-11-24T11:24:44.000Z"},"livemode":false,"object":{"id":\#
        "src_dMA0UqTZMfePkLrgeaqCwjjt","object":"source","allow_redisplay":null,"amount":1099,\#
        "created":1795519481,"currency":"eur","flow":"redirect","livemode":false,"metadata":{},\#
        "owner":{"address":null,"email":"jenny.rosen@example.com","name":"Jenny Rosen","phone":null,\#
        "verified_address":null,"verified_email":null,"verified_name":"Jenny Rosen",\#
        "verified_phone":null},"redirect":{"failure_reason":null,"return_url":\#
        "https://example.com/return","status":"succeeded","url":"http://127.0.0.1:46513/redirect/\#
        src_dMA0UqTZMfePkLrgeaqCwjjt?client_secret=redacted"},"statement_descriptor":null,"status":\#
        "consumed","type":"ideal","usage":"single_use","ideal":{"bank":null,"bic":null,\#
        "iban_last4":null,"statement_descriptor":null}},"observed":{"polled_at":\#
        "2026-11-24T11:24:45.639Z","lag_ms":0}}
        """#

    private func event() throws -> Event { try #require(Event(json: Self.json)) }

    @Test("a packed event takes less than a seventh of its JSON")
    func size() throws {
        #expect(PackedEvent.bytes(of: try event()).count < Self.json.utf8.count / 7)
    }

    @Test("unpacking an event restores the same bytes and any appended metadata")
    func exact() throws {
        let packed = PackedEvent.bytes(of: try event())
        #expect(PackedEvent.event(packed, source: Self.source)?.json == Self.json)
        let metadata = #"{"order":"A77"}"#
        let decoded = PackedEvent.events(packed + Array(metadata.utf8), of: Self.key)
        #expect(decoded == [try event().carrying(metadata: metadata)])
    }

    @Test(
        "an entry does not contain the ID of its source, unless it is short",
        arguments: [
            "src_dMA0UqTZMfePkLrgeaqCwjjt", "A77", "a-shop/ö/12345", "order\u{7F}12345678",
            "2026-11-24T11", "6ZtbRxZ23nYkEDsyVo7Fi7E_",
        ]
    )
    func source(_ source: String) throws {
        let json = Self.json.replacing(Self.source, with: source)
        let event = try #require(Event(json: json))
        let packed = PackedEvent.bytes(of: event)
        #expect(PackedEvent.event(packed, source: source)?.json == json)
        #expect(PackedEvent.digest(packed, source: source) == event.digest)
        let other = PackedEvent.event(packed, source: "src_another_one")?.key.source
        #expect((other == event.key.source) == (source == "A77"))
    }

    @Test("a digest is read from an entry without decoding it")
    func digest() throws {
        let event = try event()
        let packed = PackedEvent.bytes(of: event)
        #expect(PackedEvent.digest(packed, source: Self.source) == event.digest)
        #expect(
            PackedEvent.digest(packed + Array(#"{"order":"A77"}"#.utf8), source: Self.source)
                == event.digest
        )
        let other = Self.json.replacing("11:24:45.639Z", with: "11:24:45.640Z")
        let again = try #require(Event(json: other))
        #expect(again.id == event.id && again.digest != event.digest)
        // An upstream's object may have a text like the time of a poll.
        let text = #""observed":{"polled_at":"2026-11-24T00:00:00.000Z"}"#
        let hostile = Self.json.replacing(#""usage":"single_use""#, with: #"\#(text),"usage":"x""#)
        let foreign = try #require(Event(json: hostile))
        #expect(
            foreign.json.contains(text)
                && PackedEvent.digest(PackedEvent.bytes(of: foreign), source: Self.source)
                    == event.digest
        )
        // Other entries are decoded.
        #expect(PackedEvent.digest(Array(Self.json.utf8), source: Self.source) == nil)
        #expect(
            PackedEvent.digest(Array(packed.prefix(packed.count / 2)), source: Self.source) == nil
        )
        #expect(PackedEvent.digest([], source: Self.source) == nil)
    }

    @Test("threads that pack at the same time get the same bytes, also after a large event")
    func concurrent() async throws {
        let large = Self.json.replacing(
            "Jenny Rosen",
            with: (0..<20_000).map { "\($0) " }.joined()
        )
        let events = try [Self.json, large].map { try #require(Event(json: $0)) } + Self.five()
        let first = events.map { PackedEvent.bytes(of: $0) }
        #expect(
            first.map { PackedEvent.event($0, source: Self.source)?.json } == events.map(\.json)
        )
        await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<16 {
                group.addTask {
                    (0..<50).allSatisfy { _ in events.map { PackedEvent.bytes(of: $0) } == first }
                }
            }
            for await haveSameCapabilities in group { #expect(haveSameCapabilities) }
        }
    }

    @Test("an event that cannot be packed is stored as JSON and read back")
    func unpacked() throws {
        let name = String(repeating: "x", count: 1 << 18)
        let large = try #require(Event(json: Self.json.replacing("Jenny Rosen", with: name)))
        #expect(PackedEvent.bytes(of: large).isEmpty)
        #expect(PackedEvent.events(Array(large.json.utf8), of: Self.key) == [large])
    }

    @Test("reduced events take less than a third of their packed size and lose only their bodies")
    func reduced() throws {
        let events = try Self.five()
        let reduced = CompactedEvents.bytes(of: events)
        let packed = events.reduce(0) { $0 + PackedEvent.bytes(of: $1).count }
        #expect(reduced.count * 3 < packed, "\(reduced.count) bytes instead of \(packed)")
        #expect(PackedEvent.events(reduced, of: Self.key) == events.map(\.withoutBody))
        #expect(PackedEvent.events(reduced, of: nil, source: "").isEmpty)
        // Reduced once more, with an event recorded since.
        let again = PackedEvent.events(reduced, of: Self.key) + [try event()]
        let twice = PackedEvent.events(CompactedEvents.bytes(of: again), of: Self.key)
        #expect(twice == again.map(\.withoutBody))
    }

    @Test("a reduced event stores its ID only if its run began too long ago to derive it")
    func reducedIDs() throws {
        let span = RetentionSpans.deliveryMax
        var sizes: [Int] = []
        for age in [Duration.zero, span, span * 22, span * 40] {
            let polledAt = Timestamp(ms: 1_796_083_200_000) + span * 60
            let began = polledAt + age * -1
            let events = try Self.five().map { event -> Event in
                let id = EventID(
                    key: Self.key,
                    run: event.run,
                    began: began,
                    seq: event.seq,
                    type: event.type
                )
                let json = event.json.replacing("\(event.id)", with: "\(id)")
                    .replacing("2026-11-24T11:24:45.639Z", with: "\(polledAt)")
                return try #require(Event(json: json))
            }
            let reduced = CompactedEvents.bytes(of: events)
            #expect(PackedEvent.events(reduced, of: Self.key) == events.map(\.withoutBody))
            sizes.append(reduced.count)
        }
        let whole = sizes.removeLast()
        #expect(sizes.allSatisfy { $0 < 100 && $0 + 80 < whole }, "\(sizes) and \(whole)")
    }

    @Test("events restored from an archive keep their bytes, and their mark after a reduction")
    func restored() throws {
        let events = try Self.five().map { event in
            var event = event
            event.isRestored = true
            return event
        }
        let whole = CompactedEvents.bytes(restoring: events)
        #expect(PackedEvent.events(whole, of: Self.key) == events)
        #expect(!CompactedEvents.isReduced(whole))
        let reduced = CompactedEvents.bytes(of: PackedEvent.events(whole, of: Self.key))
        #expect(PackedEvent.events(reduced, of: Self.key) == events.map(\.withoutBody))
        #expect(CompactedEvents.isReduced(reduced))
        // Some were recorded later, and this stays known after all are reduced.
        var later = events
        for index in 3..<5 { later[index].isRestored = false }
        let both = PackedEvent.events(CompactedEvents.bytes(of: later), of: Self.key)
        #expect(both.map(\.isRestored) == [true, true, true, false, false])
        #expect(both.map(\.id) == later.map(\.id))
    }

    @Test("complete events take less than half of their packed size together, and keep every byte")
    func compacted() throws {
        let events = try Self.five().map { $0.carrying(metadata: #"{"order":"A77"}"#) }
        let log = events.map { PackedEvent.bytes(of: $0) }
        let compact = CompactedEvents.bytes(compacting: log, of: Self.key)
        let size = log.reduce(0) { $0 + $1.count }
        #expect(compact.count * 2 < size, "\(compact.count) bytes instead of \(size)")
        #expect(PackedEvent.events(compact, of: Self.key).map(\.json) == events.map(\.json))
        #expect(!CompactedEvents.isReduced(compact))
        // Once more, with an event recorded since, which may be stored as JSON.
        let more = [compact, Array(try event().json.utf8), log[0]]
        let again = CompactedEvents.bytes(compacting: more, of: Self.key)
        let all = events + [try event(), events[0]]
        #expect(PackedEvent.events(again, of: Self.key).map(\.json) == all.map(\.json))
    }

    @Test("a log stays unchanged if its events cannot be packed together without a change")
    func uncompacted() throws {
        let events = try Self.five()
        let log = events.map { PackedEvent.bytes(of: $0) }
        let restored = CompactedEvents.bytes(restoring: events)
        let reduced = CompactedEvents.bytes(of: events)
        let large = try #require(
            Event(json: Self.json.replacing("Jenny", with: String(repeating: "x", count: 1 << 16)))
        )
        let other = try #require(Event(json: Self.json.replacing("default", with: "another")))
        for entry in [
            restored, reduced, PackedEvent.bytes(of: large), PackedEvent.bytes(of: other), [], [9],
            Array(log[0].dropLast()),
        ] {
            #expect(CompactedEvents.bytes(compacting: [entry] + log, of: Self.key).isEmpty)
        }
        let many = Array(repeating: log, count: 7).flatMap(\.self)
        #expect(CompactedEvents.bytes(compacting: many, of: Self.key).isEmpty)
    }

    @Test("damaged reduced events are read or ignored without a crash", arguments: 0..<200)
    func damagedEntry(seed: Int) throws {
        var generator = SeededGenerator(seed: UInt64(seed))
        var reduced = CompactedEvents.bytes(of: try Self.five())
        if Bool.random(using: &generator) {
            reduced = Array(reduced.prefix(Int.random(in: 0..<reduced.count, using: &generator)))
        }
        if !reduced.isEmpty {
            reduced[Int.random(in: reduced.indices, using: &generator)] ^= UInt8.random(
                in: 1...255,
                using: &generator
            )
        }
        for event in PackedEvent.events(reduced, of: Self.key) { #expect(!event.json.isEmpty) }
    }

    /// Returns five events of one source.
    private static func five() throws -> [Event] {
        try (1...5).map { seq in
            let text = json.replacing(#""seq":5"#, with: #""seq":\#(seq)"#)
                .replacing(
                    "evt_6ZtbRxZ23nYkEDsyVo7Fi7E_",
                    with: "evt_6Ztb\(seq)xZ23nYkEDs\(seq)Vo7Fi7E_"
                )
            return try #require(Event(json: text))
        }
    }

    /// Checks bytes of this format as an earlier program has written them.
    ///
    /// A change of the reader must still read these.
    @Test("an event in the original packed form is still read")
    func pinned() throws {
        let written = try #require(Self.bytes(ofHex: Self.written))
        #expect(PackedEvent.event(written, source: Self.source)?.json == Self.json)
    }

    @Test("a truncated or altered event is read or ignored without a crash", arguments: 0..<200)
    func damaged(seed: Int) throws {
        var generator = SeededGenerator(seed: UInt64(seed))
        var packed = PackedEvent.bytes(of: try event())
        if Bool.random(using: &generator) {
            packed = Array(packed.prefix(Int.random(in: 0..<packed.count, using: &generator)))
        }
        if !packed.isEmpty {
            packed[Int.random(in: packed.indices, using: &generator)] ^= UInt8.random(
                in: 1...255,
                using: &generator
            )
        }
        // The result is an event that can be written again, or none.
        if let event = PackedEvent.event(packed, source: Self.source) {
            #expect(!event.json.isEmpty)
        }
    }

    private static let written = """
        010000840004b60008fd030043850f3e77dbce7777fadfcd6e76e3f872dcbf5dfbbbb7d7fa6bfcef\
        e6dcc162cd20b04cab13aa34260f16b20e4d4ac2c7092f452a1a91b44a64c626dae7949aba17fcb9\
        8c4b26003b2f679fc01ade8be20f471a300cfd6ebf1da4c105a40f1b05aefbf413c60196eb4c27fe\
        bd2dd712e54c08a7e7991c6c4d8fee9cda8124
        """

    private static func bytes(ofHex text: String) -> [UInt8]? {
        let digits = Array(text)
        let bytes = stride(from: 0, to: digits.count - 1, by: 2).compactMap {
            UInt8(String(digits[$0...$0 + 1]), radix: 16)
        }
        return bytes.isEmpty ? nil : bytes
    }
}
