import JSONText
import PollerIdentity
import PollerWire
import Testing

@testable import Poller

/// What operators are told: once when it begins, once when it is over, however it flaps.
@Suite("IncidentBoard")
struct IncidentBoardTests {
    private static let start = Timestamp(ms: 1_795_165_200_125)
    private let hold = Duration.seconds(60)

    /// A board with what it has told so far.
    private struct Story {
        var board = IncidentBoard()
        var told: [String] = []
        var news: [Poller.Incident] = []

        /// What a look sees so many seconds after the start.
        mutating func see(
            _ second: Int,
            _ seen: [IncidentKind: Sighting],
            hold: Duration = .seconds(60)
        ) {
            let now = IncidentBoardTests.start + .seconds(second)
            news = board.note(seen, at: now, hold: hold)
            // As the next process reads it.
            board = IncidentBoard(stored: board.stored)
            told += news.map { "\($0.event.type) \($0.event.status?.description ?? "")" }
        }
    }

    private func sighting(_ subjects: String?..., isWhole: Bool = true) -> Sighting {
        Sighting(
            subjects.map { Sighting.Trouble($0, "\($0 ?? "it") is not well") },
            action: "mend it",
            isWhole: isWhole
        )
    }

    private func many(_ count: Int) -> Sighting {
        Sighting((0..<count).map { Sighting.Trouble("lane/\(100 + $0)", "no answer") })
    }

    @Test("how many there are is what the sentence says, also when they become fewer")
    func counts() {
        var story = Story()
        for (second, count) in [(0, 87), (10, 90), (20, 86)] {
            let trouble = Sighting.Trouble("ep_1", count: count, "\(count) have given up")
            story.see(second, [.deadLetters: Sighting([trouble])])
            let open = story.board.open.first
            #expect(open?.count == count && open?.message == "\(count) have given up")
        }
    }

    @Test("trouble that lasts is told once, and once more when it has been well for a while")
    func once() throws {
        var story = Story()
        for second in stride(from: 0, through: 50, by: 10) {
            story.see(second, [.noWorker: sighting(nil)])
        }
        #expect(story.told.isEmpty, "it may pass by itself")
        for second in stride(from: 60, through: 600, by: 10) {
            story.see(second, [.noWorker: sighting(nil)])
        }
        #expect(story.told == ["operator.no_worker open"])
        let open = try #require(story.board.open.first)
        #expect(open.since == Self.start && open.openedAt == Self.start + hold)
        for second in stride(from: 610, through: 660, by: 10) {
            story.see(second, [.noWorker: sighting()])
        }
        #expect(story.told.count == 1, "well for 50 s is not over yet")
        story.see(670, [.noWorker: sighting()])
        #expect(story.told == ["operator.no_worker open", "operator.no_worker resolved"])
        #expect(story.news.first?.id == open.id)
        #expect(story.board == IncidentBoard())
        story.see(680, [.noWorker: sighting()])
        #expect(story.told.count == 2)
    }

    @Test("what flaps within its hold is told once, and what passes by itself never")
    func flapping() {
        var story = Story()
        for second in stride(from: 0, to: 600, by: 10) {
            story.see(second, [.laneStopped: second % 60 < 50 ? sighting("a/b") : sighting()])
        }
        #expect(story.told.isEmpty, "each time it was well before it was told")
        for second in stride(from: 600, to: 700, by: 10) {
            story.see(second, [.laneStopped: sighting("a/b")])
        }
        for second in stride(from: 700, to: 3000, by: 10) {
            story.see(second, [.laneStopped: second % 60 < 10 ? sighting("a/b") : sighting()])
        }
        #expect(story.told == ["operator.lane_stopped open"], "never well for a minute")
    }

    @Test("what no time mends is told at once")
    func atOnce() {
        var story = Story()
        story.see(
            0,
            [
                .deadLetters: sighting("ep_1"), .endpointDisabled: sighting("ep_2"),
                .keyExpiring: sighting("key_1"), .quarantine: sighting(nil),
            ]
        )
        #expect(
            Set(story.told) == [
                "operator.dead_letters open", "operator.endpoint_disabled open",
                "operator.key_expiring open", "operator.quarantine open",
            ]
        )
    }

    @Test("a few of a kind are told one by one, each with its own end")
    func oneByOne() {
        var story = Story()
        story.see(0, [.deadLetters: sighting("ep_1", "ep_2")])
        story.see(10, [.deadLetters: sighting("ep_1", "ep_2", "ep_3")])
        #expect(story.told.count == 3)
        #expect(story.board.open.map(\.subject) == ["ep_1", "ep_2", "ep_3"])
        for second in stride(from: 20, through: 90, by: 10) {
            story.see(second, [.deadLetters: sighting("ep_1", "ep_3")])
        }
        #expect(story.told.count == 4 && story.board.open.map(\.subject) == ["ep_1", "ep_3"])
    }

    @Test("five hundred lanes at once are one incident with a count, and one end")
    func together() throws {
        var story = Story()
        // They do not all stop between the same two looks.
        story.see(0, [.laneStopped: many(3)])
        for second in stride(from: 10, through: 70, by: 10) {
            story.see(second, [.laneStopped: many(500)])
        }
        #expect(story.told == ["operator.lane_stopped open"])
        let incident = try #require(story.board.open.first)
        #expect(incident.subject == nil && incident.count == 500 && incident.since == Self.start)
        #expect(
            incident.message == "500 lanes are stopped by their upstream: lane/100, lane/101, "
                + "lane/102 and 497 more"
        )
        story.see(80, [.laneStopped: many(2)])
        #expect(story.board.open.map(\.count) == [2], "as many as the message says")
        story.see(90, [.laneStopped: many(0)])
        story.see(100, [.laneStopped: many(1)])
        for second in stride(from: 110, through: 170, by: 10) {
            story.see(second, [.laneStopped: many(0)])
        }
        #expect(story.told == ["operator.lane_stopped open", "operator.lane_stopped resolved"])
    }

    @Test("a thousand dead letters that come one after the other are a handful of incidents")
    func oneAfterTheOther() {
        var story = Story()
        for count in 1...1000 {
            let dead = (0..<count).map { Sighting.Trouble("ep_\($0)", count: 2, "gave up") }
            story.see(count, [.deadLetters: Sighting(dead)])
        }
        #expect(story.told.count == IncidentBoard.perKindMax + 1)
        #expect(story.board.open.last?.count == 2 * (1000 - IncidentBoard.perKindMax))
        // Of each kind there is a bound, and so of the board.
        #expect(story.board.stored.utf8.count < 30_000)
    }

    @Test("what was not looked at is neither well nor in trouble")
    func unknown() {
        var story = Story()
        story.see(0, [.deadLetters: sighting("ep_1"), .noWorker: sighting(nil)])
        // A look that could not read everything, and one that could not read this kind at all.
        for second in stride(from: 10, through: 300, by: 10) {
            story.see(second, second % 20 == 0 ? [:] : [.deadLetters: sighting(isWhole: false)])
        }
        #expect(story.told == ["operator.dead_letters open"])
        #expect(story.board.open.map(\.wellSince) == [nil])
        story.see(310, [.noWorker: sighting(nil)])
        #expect(story.told.last == "operator.no_worker open", "it was so at both looks at it")
    }

    @Test("what an older release does not know stays as it is")
    func unknownKind() throws {
        var story = Story()
        story.see(0, [.quarantine: sighting(nil)])
        let stored = story.board.stored.replacing("\"quarantine\"", with: "\"of_tomorrow\"")
        story.board = IncidentBoard(stored: stored)
        for second in stride(from: 10, through: 300, by: 10) {
            story.see(second, [.quarantine: sighting()])
        }
        #expect(story.board.open.map(\.kindName) == ["of_tomorrow"])
        #expect(story.told.count == 1)
        #expect(IncidentBoard(stored: "nonsense") == IncidentBoard())
    }

    @Test("incidents are ordered by their consequence, then by the time of their report")
    func consequences() {
        var story = Story()
        let outbox = Sighting([Sighting.Trouble("outbox", "outbox: 5000 events wait")])
        story.see(
            0,
            [.keyExpiring: sighting("key_1"), .deadLetters: sighting("ep_2")],
            hold: .zero
        )
        story.see(10, [.noNotifier: sighting(nil), .backlog: outbox], hold: .zero)
        story.see(
            20,
            [.deadLetters: sighting("ep_2", "ep_1"), .quarantine: sighting(nil)],
            hold: .zero
        )
        story.see(
            30,
            [.credentialsRefused: sighting("acme"), .laneStopped: sighting("b/sources")],
            hold: .zero
        )
        let ordered = story.board.open.byConsequence
        #expect(
            ordered.map { "\($0.kindName) \($0.subject ?? "")" } == [
                "credentials_refused acme", "lane_stopped b/sources", "quarantine ", "no_notifier ",
                "backlog outbox", "dead_letters ep_2", "dead_letters ep_1", "key_expiring key_1",
            ]
        )
    }

    @Test("trouble with a known start is reported with it, also if it is seen much later")
    func since() {
        var story = Story()
        let began = Self.start + (.zero - .seconds(400))
        let trouble = Sighting.Trouble("ep_1", "accepts nothing", since: began)
        story.see(0, [.endpointFailing: Sighting([trouble])])
        #expect(story.told == ["operator.endpoint_failing open"])
        #expect(story.board.open.map(\.since) == [began])
        #expect(story.board.open.map(\.openedAt) == [Self.start])
    }

    @Test("the kinds are those that the API knows")
    func kinds() {
        let known = PollerWire.Incident.Kind.allCases.map(\.rawValue)
        #expect(IncidentKind.allCases.map(\.rawValue) == known)
    }

    @Test("the events tell what, since when, and what to do; the second is the last")
    func events() throws {
        var story = Story()
        story.see(0, [.endpointDisabled: sighting("ep_1")])
        let opened = try #require(story.news.first)
        story.see(10, [.endpointDisabled: sighting()], hold: .zero)
        let over = try #require(story.news.first)
        #expect(opened.id == over.id && opened.id.description.hasPrefix("inc_"))
        let (first, second) = (opened.event, over.event)
        #expect((first.seq, second.seq) == (1, 2))
        #expect((first.closed, second.closed) == (nil, .settled) && second.final)
        #expect(first.id != second.id)
        #expect(first.key.account == .operators && first.key.kind == .incident)
        #expect(Poller.Event(json: first.json) == first)
        let object = try #require(RawJSON(second.json)?.member("object"))
        let wire = try PollerWire.Incident(reading: object)
        #expect(wire.status.known == .resolved && wire.subject == "ep_1")
        #expect(wire.message == "ep_1 is not well" && wire.action == "mend it")
        #expect(wire.since.ms == Self.start.ms && wire.resolvedAt?.ms == Self.start.ms + 10_000)
        #expect(Poller.Incident(second) == over)
        #expect(Poller.Incident(stored: over.stored) == over)
        // Whoever decides the same makes the same event.
        var again = Story()
        again.see(0, [.endpointDisabled: sighting("ep_1")])
        #expect(again.news.first?.event == first)
    }
}
