import JSONText
import PollerIdentity
import PollerWire
import Testing

@testable import Poller

/// Incidents are reported once when they begin and once when they end, even if they flap.
@Suite("IncidentBoard")
struct IncidentBoardTests {
    private static let start = Timestamp(ms: 1_795_165_200_125)
    private let hold = Duration.seconds(60)

    /// A board with the incidents it has reported.
    private struct Story {
        var board = IncidentBoard()
        var told: [String] = []
        var news: [Poller.Incident] = []

        /// Records the observations at a second after the start.
        mutating func see(
            _ second: Int,
            _ seen: [IncidentKind: Sighting],
            hold: Duration = .seconds(60)
        ) {
            let now = IncidentBoardTests.start + .seconds(second)
            news = board.note(seen, at: now, hold: hold)
            // The next process reads the stored board.
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

    @Test("the message has the current count, even if the count falls")
    func counts() {
        var story = Story()
        for (second, count) in [(0, 87), (10, 90), (20, 86)] {
            let trouble = Sighting.Trouble("ep_1", count: count, "\(count) have given up")
            story.see(second, [.deadLetters: Sighting([trouble])])
            let open = story.board.open.first
            #expect(open?.count == count && open?.message == "\(count) have given up")
        }
    }

    @Test("a lasting problem is reported once, and its end once after it was well for a while")
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

    @Test("a flapping problem is reported once, and a short one never")
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

    @Test("a problem that cannot end on its own is reported at once")
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

    @Test("a few incidents of a kind are reported one by one, each with its end")
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

    @Test("five hundred stopped lanes are one incident with a count and one end")
    func together() throws {
        var story = Story()
        // The lanes stop over several observations.
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

    @Test("a thousand consecutive dead letters cause a handful of incidents")
    func oneAfterTheOther() {
        var story = Story()
        for count in 1...1000 {
            let dead = (0..<count).map { Sighting.Trouble("ep_\($0)", count: 2, "gave up") }
            story.see(count, [.deadLetters: Sighting(dead)])
        }
        #expect(story.told.count == IncidentBoard.perKindMax + 1)
        #expect(story.board.open.last?.count == 2 * (1000 - IncidentBoard.perKindMax))
        // Each kind has a limit, so the board has one, too.
        #expect(story.board.stored.utf8.count < 30_000)
    }

    @Test("a subject that was not observed is neither well nor in trouble")
    func unknown() {
        var story = Story()
        story.see(0, [.deadLetters: sighting("ep_1"), .noWorker: sighting(nil)])
        // Observations alternate between an incomplete one and one without this kind.
        for second in stride(from: 10, through: 300, by: 10) {
            story.see(second, second % 20 == 0 ? [:] : [.deadLetters: sighting(isWhole: false)])
        }
        #expect(story.told == ["operator.dead_letters open"])
        #expect(story.board.open.map(\.wellSince) == [nil])
        story.see(310, [.noWorker: sighting(nil)])
        #expect(story.told.last == "operator.no_worker open", "it was so at both looks at it")
    }

    @Test("an incident kind unknown to an older release is preserved")
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

    @Test("a problem is reported with its known start, even if it is observed much later")
    func since() {
        var story = Story()
        let began = Self.start + (.zero - .seconds(400))
        let trouble = Sighting.Trouble("ep_1", "accepts nothing", since: began)
        story.see(0, [.endpointFailing: Sighting([trouble])])
        #expect(story.told == ["operator.endpoint_failing open"])
        #expect(story.board.open.map(\.since) == [began])
        #expect(story.board.open.map(\.openedAt) == [Self.start])
    }

    @Test("the incident kinds are the same as in the API")
    func kinds() {
        let known = PollerWire.Incident.Kind.allCases.map(\.rawValue)
        #expect(IncidentKind.allCases.map(\.rawValue) == known)
    }

    @Test("events have the problem, its start and the action, and the second event is final")
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
        // Another process that observes the same creates the same event.
        var again = Story()
        again.see(0, [.endpointDisabled: sighting("ep_1")])
        #expect(again.news.first?.event == first)
    }
}
