import PollerDeliveries
import PollerIdentity
import PollerTesting
import PollerWatches
import Testing

@Suite("Interest table")
struct InterestTableTests {
    private static func account(_ name: String) -> AccountID { AccountID(unchecked: name) }
    private static func source(_ name: String) -> SourceID { SourceID(unchecked: name) }

    private static func found(_ key: WatchKey, seq: Int = 1, status: String = "a") -> FeedEvent {
        FeedEvent(reference(key), Sample.event(key, seq: seq, status: status))
    }

    private static func reference(_ key: WatchKey, saysLane: Bool = false) -> OutboxReference {
        OutboxReference(
            id: "1-0",
            partition: 0,
            item: key.id,
            lane: saysLane ? key.lane : nil,
            seq: 1
        )
    }

    private static func sources(_ names: String..., of accounts: AccountSet) -> Interest {
        Interest(in: .sources(Set(names.map(source)), of: accounts))
    }

    /// Interests of every scope that match the watch of `src_1` in `acct_a`.
    static let matching: [Interest] = [
        .everything, Interest(in: .watch(Sample.key())),
        sources("src_1", "src_2", of: .all),
        sources("src_1", "src_2", of: .some([account("acct_a"), account("acct_b")])),
        Interest(in: .accounts(.some([account("acct_a"), account("acct_b")]))),
    ]

    @Test(
        "a subscriber of any scope receives events until it leaves, and leaves no entries",
        arguments: matching
    )
    func leaves(_ interest: Interest) {
        var table = InterestTable<Int>()
        table.insert(1, matching: interest)
        table.insert(2, matching: interest)
        #expect(Set(table.listeners(of: Self.found(Sample.key()))) == [1, 2])
        table.remove(1)
        #expect(table.listeners(of: Self.found(Sample.key())) == [2])
        table.remove(2)
        #expect(table.listeners(of: Self.found(Sample.key())) == [])
        #expect(table.isEmpty && table.routeCount == 0)
        #expect(!table.mayMatch(Self.reference(Sample.key())))
    }

    @Test("a changed interest replaces the former one", arguments: matching)
    func changes(_ interest: Interest) {
        var table = InterestTable(1, matching: interest)
        let other = Sample.key("src_9", account: "acct_c")
        table.insert(1, matching: Interest(in: .accounts(.some([other.account]))))
        #expect(table.listeners(of: Self.found(Sample.key())) == [])
        #expect(table.listeners(of: Self.found(other)) == [1])
        table.remove(1)
        #expect(table.routeCount == 0)
    }

    @Test("an entry is read only if a subscriber may match it")
    func reads() {
        let (mine, other) = (Sample.key(), Sample.key("src_9", account: "acct_c"))
        for interest in Self.matching {
            let table = InterestTable(1, matching: interest)
            for saysLane in [false, true] {
                #expect(table.mayMatch(Self.reference(mine, saysLane: saysLane)), "\(interest)")
            }
            // The lane of an entry gives its account, but no field gives its source.
            let expected: (bare: Bool, lane: Bool) =
                switch interest.scope {
                case .accounts(.all), .sources(_, of: .all): (true, true)
                case .accounts: (true, false)
                case .watch, .sources: (false, false)
                }
            #expect(table.mayMatch(Self.reference(other)) == expected.bare, "\(interest)")
            let withLane = Self.reference(other, saysLane: true)
            #expect(table.mayMatch(withLane) == expected.lane, "\(interest)")
        }
    }

    @Test("interests in many sources are indexed by source instead of item")
    func manySources() {
        let names = Set((0..<60).map { Self.source("src_\($0)") })
        let accounts: AccountSet = .some([Self.account("acct_a"), Self.account("acct_b")])
        let table = InterestTable(1, matching: Interest(in: .sources(names, of: accounts)))
        #expect(table.routeCount == 60)
        #expect(table.listeners(of: Self.found(Sample.key())) == [1])
        #expect(table.listeners(of: Self.found(Sample.key(account: "acct_c"))) == [])
    }

    @Test(
        "the table selects the same subscribers as a filter over all interests",
        arguments: 1...10 as ClosedRange<UInt64>
    )
    func property(_ seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var table = InterestTable<Int>()
        var interests: [Int: Interest] = [:]
        for step in 0..<2000 {
            let listener = Int.random(in: 0..<60, using: &generator)
            switch Int.random(in: 0..<10, using: &generator) {
            case 0:
                table.remove(listener)
                interests[listener] = nil
            case 1...3:
                let interest = Self.interest(&generator)
                table.insert(listener, matching: interest)
                interests[listener] = interest
            default:
                let key = Self.key(&generator)
                let seq = Int.random(in: 1...4, using: &generator)
                let event = Self.found(
                    key,
                    seq: seq,
                    status: Bool.random(using: &generator) ? "a" : "b"
                )
                let wanted = interests.filter { Self.passes(event.event, $0.value) }.keys
                let matching = table.listeners(of: event)
                #expect(matching.sorted() == wanted.sorted(), "seed \(seed), step \(step)")
                guard !wanted.isEmpty else { continue }
                for saysLane in [false, true] {
                    let reference = Self.reference(key, saysLane: saysLane)
                    #expect(table.mayMatch(reference), "seed \(seed), step \(step)")
                }
            }
        }
        for listener in interests.keys { table.remove(listener) }
        #expect(table.routeCount == 0, "seed \(seed)")
    }

    /// Filters one event, as a reference for the table.
    private static func passes(_ event: Event, _ interest: Interest) -> Bool {
        let types = interest.types ?? ["*"]
        let isOfType = types.contains { $0 == event.type || $0 == "*" || $0 == "source.*" }
        guard isOfType, event.seq > interest.afterSeq else { return false }
        switch interest.scope {
        case .watch(let key):
            return key.account == event.key.account && key.source == event.key.source
        case .sources(let sources, .all): return sources.contains(event.key.source)
        case .sources(let sources, .some(let accounts)):
            return sources.contains(event.key.source) && accounts.contains(event.key.account)
        case .accounts(.all): return true
        case .accounts(.some(let accounts)): return accounts.contains(event.key.account)
        }
    }

    private static func key(_ generator: inout SeededGenerator) -> WatchKey {
        Sample.key(
            "src_\(Int.random(in: 0..<6, using: &generator))",
            account: "acct_\(Int.random(in: 0..<4, using: &generator))"
        )
    }

    private static func interest(_ generator: inout SeededGenerator) -> Interest {
        let key = key(&generator)
        var accounts: Set<AccountID> = []
        var sources: Set<SourceID> = []
        for _ in 0..<Int.random(in: 0..<3, using: &generator) {
            accounts.insert(Self.key(&generator).account)
            sources.insert(Self.key(&generator).source)
        }
        let set: AccountSet = Bool.random(using: &generator) ? .all : .some(accounts)
        let types: [[String]?] = [nil, nil, ["source.*"], ["source.b", "watch.expired"]]
        switch Int.random(in: 0..<3, using: &generator) {
        case 0: return Interest(in: .watch(key), afterSeq: Int.random(in: 0...3, using: &generator))
        case 1: return Interest(in: .sources(sources, of: set))
        default:
            return Interest(
                in: .accounts(set),
                types: types[Int.random(in: 0..<4, using: &generator)]
            )
        }
    }
}
