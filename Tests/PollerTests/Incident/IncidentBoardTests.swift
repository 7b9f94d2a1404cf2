import JSONText
import PollerIdentity
import PollerWire
import Testing

@testable import PollerIncidents
@testable import PollerPayments
@testable import PollerWatches

/// Incidents are reported once when they begin and once when they end, even if they flap.
@Suite("IncidentBoard")
struct IncidentBoardTests {
    private static let start = Timestamp(ms: 1_795_165_200_125)
    private let hold = Duration.seconds(60)

    /// A board with the incidents it has reported.
    private struct BoardHistory {
        var board = IncidentBoard()
        var published: [String] = []
        var changed: [PollerIncidents.Incident] = []

        /// Records the observations at a second after the start.
        mutating func see(
            _ second: Int,
            _ seen: [IncidentKind: IncidentObservation],
            hold: Duration = .seconds(60)
        ) {
            let now = IncidentBoardTests.start + .seconds(second)
            changed = board.note(seen, at: now, hold: hold)
            // The next process reads the stored board.
            board = IncidentBoard(stored: board.stored)
            published += changed.map { "\($0.event.type) \($0.event.status?.description ?? "")" }
        }
    }

    private func observation(_ subjects: String?..., isWhole: Bool = true) -> IncidentObservation {
        IncidentObservation(
            subjects.map { IncidentObservation.Problem($0, "\($0 ?? "it") is not well") },
            action: "mend it",
            isWhole: isWhole
        )
    }

    private func many(_ count: Int) -> IncidentObservation {
        IncidentObservation(
            (0..<count).map { IncidentObservation.Problem("lane/\(100 + $0)", "no answer") }
        )
    }

    @Test("the message has the current count, even if the count falls")
    func counts() {
        var history = BoardHistory()
        for (second, count) in [(0, 87), (10, 90), (20, 86)] {
            let problem = IncidentObservation.Problem(
                "ep_1",
                count: count,
                "\(count) have given up"
            )
            history.see(second, [.deadLetters: IncidentObservation([problem])])
            let open = history.board.open.first
            #expect(open?.count == count && open?.message == "\(count) have given up")
        }
    }

    @Test("a lasting problem is reported once, and its end once after it was well for a while")
    func once() throws {
        var history = BoardHistory()
        for second in stride(from: 0, through: 50, by: 10) {
            history.see(second, [.noWorker: observation(nil)])
        }
        #expect(history.published.isEmpty, "it may pass by itself")
        for second in stride(from: 60, through: 600, by: 10) {
            history.see(second, [.noWorker: observation(nil)])
        }
        #expect(history.published == ["operator.no_worker open"])
        let open = try #require(history.board.open.first)
        #expect(open.since == Self.start && open.openedAt == Self.start + hold)
        for second in stride(from: 610, through: 660, by: 10) {
            history.see(second, [.noWorker: observation()])
        }
        #expect(history.published.count == 1, "well for 50 s is not over yet")
        history.see(670, [.noWorker: observation()])
        #expect(history.published == ["operator.no_worker open", "operator.no_worker resolved"])
        #expect(history.changed.first?.id == open.id)
        #expect(history.board == IncidentBoard())
        history.see(680, [.noWorker: observation()])
        #expect(history.published.count == 2)
    }

    @Test("a flapping problem is reported once, and a short one never")
    func flapping() {
        var history = BoardHistory()
        for second in stride(from: 0, to: 600, by: 10) {
            history.see(
                second,
                [.laneStopped: second % 60 < 50 ? observation("a/b") : observation()]
            )
        }
        #expect(history.published.isEmpty, "each time it ended before it was reported")
        for second in stride(from: 600, to: 700, by: 10) {
            history.see(second, [.laneStopped: observation("a/b")])
        }
        for second in stride(from: 700, to: 3000, by: 10) {
            history.see(
                second,
                [.laneStopped: second % 60 < 10 ? observation("a/b") : observation()]
            )
        }
        #expect(history.published == ["operator.lane_stopped open"], "never well for a minute")
    }

    @Test("a problem that cannot end on its own is reported at once")
    func atOnce() {
        var history = BoardHistory()
        history.see(
            0,
            [
                .deadLetters: observation("ep_1"), .endpointDisabled: observation("ep_2"),
                .keyExpiring: observation("key_1"), .quarantine: observation(nil),
            ]
        )
        #expect(
            Set(history.published) == [
                "operator.dead_letters open", "operator.endpoint_disabled open",
                "operator.key_expiring open", "operator.quarantine open",
            ]
        )
    }

    @Test("a few incidents of a kind are reported one by one, each with its end")
    func oneByOne() {
        var history = BoardHistory()
        history.see(0, [.deadLetters: observation("ep_1", "ep_2")])
        history.see(10, [.deadLetters: observation("ep_1", "ep_2", "ep_3")])
        #expect(history.published.count == 3)
        #expect(history.board.open.map(\.subject) == ["ep_1", "ep_2", "ep_3"])
        for second in stride(from: 20, through: 90, by: 10) {
            history.see(second, [.deadLetters: observation("ep_1", "ep_3")])
        }
        #expect(
            history.published.count == 4 && history.board.open.map(\.subject) == ["ep_1", "ep_3"]
        )
    }

    @Test("five hundred stopped lanes are one incident with a count and one end")
    func together() throws {
        var history = BoardHistory()
        // The lanes stop over several observations.
        history.see(0, [.laneStopped: many(3)])
        for second in stride(from: 10, through: 70, by: 10) {
            history.see(second, [.laneStopped: many(500)])
        }
        #expect(history.published == ["operator.lane_stopped open"])
        let incident = try #require(history.board.open.first)
        #expect(incident.subject == nil && incident.count == 500 && incident.since == Self.start)
        #expect(
            incident.message == "500 lanes are stopped by their upstream: lane/100, lane/101, "
                + "lane/102 and 497 more"
        )
        history.see(80, [.laneStopped: many(2)])
        #expect(history.board.open.map(\.count) == [2], "as many as the message says")
        history.see(90, [.laneStopped: many(0)])
        history.see(100, [.laneStopped: many(1)])
        for second in stride(from: 110, through: 170, by: 10) {
            history.see(second, [.laneStopped: many(0)])
        }
        #expect(
            history.published == ["operator.lane_stopped open", "operator.lane_stopped resolved"]
        )
    }

    @Test("a thousand consecutive dead letters cause a handful of incidents")
    func oneAfterTheOther() {
        var history = BoardHistory()
        for count in 1...1000 {
            let dead = (0..<count).map {
                IncidentObservation.Problem("ep_\($0)", count: 2, "gave up")
            }
            history.see(count, [.deadLetters: IncidentObservation(dead)])
        }
        #expect(history.published.count == IncidentBoard.perKindMax + 1)
        #expect(history.board.open.last?.count == 2 * (1000 - IncidentBoard.perKindMax))
        // Each kind has a limit, so the board has one, too.
        #expect(history.board.stored.utf8.count < 30_000)
    }

    @Test("a subject that was not observed is neither well nor affected")
    func unknown() {
        var history = BoardHistory()
        history.see(0, [.deadLetters: observation("ep_1"), .noWorker: observation(nil)])
        // Observations alternate between an incomplete one and one without this kind.
        for second in stride(from: 10, through: 300, by: 10) {
            history.see(
                second,
                second % 20 == 0 ? [:] : [.deadLetters: observation(isWhole: false)]
            )
        }
        #expect(history.published == ["operator.dead_letters open"])
        #expect(history.board.open.map(\.healthySince) == [nil])
        history.see(310, [.noWorker: observation(nil)])
        #expect(
            history.published.last == "operator.no_worker open",
            "it was so at both looks at it"
        )
    }

    @Test("an incomplete check does not restart the time of a rising problem")
    func rising() {
        var history = BoardHistory()
        history.see(0, [.laneStopped: observation("a/b", "c/d")])
        history.see(30, [.laneStopped: observation(isWhole: false)])
        history.see(40, [.laneStopped: observation("c/d", isWhole: false)])
        #expect(history.published.isEmpty)
        history.see(60, [.laneStopped: observation("a/b", "c/d")])
        #expect(history.board.open.map(\.subject) == ["a/b", "c/d"])
        #expect(history.board.open.map(\.since) == [Self.start, Self.start])
        // A complete check in between shows that the problem had ended.
        var whole = BoardHistory()
        whole.see(0, [.laneStopped: observation("a/b")])
        whole.see(30, [.laneStopped: observation()])
        whole.see(60, [.laneStopped: observation("a/b")])
        #expect(whole.published.isEmpty)
    }

    @Test("incomplete checks keep only a few rising problems")
    func risingMany() {
        var history = BoardHistory()
        for second in 0..<50 {
            history.see(second, [.laneStopped: observation("lane/\(second)", isWhole: false)])
        }
        #expect(history.published.isEmpty)
        let stored = history.board.stored.matches(of: /"subject":/)
        #expect(stored.count == IncidentBoard.perKindMax + 1)
    }

    @Test("an incident kind unknown to an older release is preserved")
    func unknownKind() throws {
        var history = BoardHistory()
        history.see(0, [.quarantine: observation(nil)])
        let stored = history.board.stored.replacing("\"quarantine\"", with: "\"of_tomorrow\"")
        history.board = IncidentBoard(stored: stored)
        for second in stride(from: 10, through: 300, by: 10) {
            history.see(second, [.quarantine: observation()])
        }
        #expect(history.board.open.map(\.kindName) == ["of_tomorrow"])
        #expect(history.published.count == 1)
        #expect(IncidentBoard(stored: "nonsense") == IncidentBoard())
    }

    @Test("incidents are ordered by their consequence, then by the time of their report")
    func consequences() {
        var history = BoardHistory()
        let outbox = IncidentObservation([
            IncidentObservation.Problem("outbox", "outbox: 5000 events wait")
        ])
        history.see(
            0,
            [.keyExpiring: observation("key_1"), .deadLetters: observation("ep_2")],
            hold: .zero
        )
        history.see(10, [.noNotifier: observation(nil), .backlog: outbox], hold: .zero)
        history.see(
            20,
            [.deadLetters: observation("ep_2", "ep_1"), .quarantine: observation(nil)],
            hold: .zero
        )
        history.see(
            30,
            [.credentialsRefused: observation("acme"), .laneStopped: observation("b/sources")],
            hold: .zero
        )
        let ordered = history.board.open.byConsequence
        #expect(
            ordered.map { "\($0.kindName) \($0.subject ?? "")" } == [
                "credentials_refused acme", "lane_stopped b/sources", "quarantine ", "no_notifier ",
                "backlog outbox", "dead_letters ep_2", "dead_letters ep_1", "key_expiring key_1",
            ]
        )
    }

    @Test("a problem is reported with its known start, even if it is observed much later")
    func since() {
        var history = BoardHistory()
        let began = Self.start + (.zero - .seconds(400))
        let problem = IncidentObservation.Problem("ep_1", "accepts nothing", since: began)
        history.see(0, [.endpointFailing: IncidentObservation([problem])])
        #expect(history.published == ["operator.endpoint_failing open"])
        #expect(history.board.open.map(\.since) == [began])
        #expect(history.board.open.map(\.openedAt) == [Self.start])
    }

    @Test("the incident kinds are the same as in the API")
    func kinds() {
        let known = PollerWire.Incident.Kind.allCases.map(\.rawValue)
        #expect(IncidentKind.allCases.map(\.rawValue) == known)
    }

    @Test("events have the problem, its start and the action, and the second event is final")
    func events() throws {
        var history = BoardHistory()
        history.see(0, [.endpointDisabled: observation("ep_1")])
        let opened = try #require(history.changed.first)
        history.see(10, [.endpointDisabled: observation()], hold: .zero)
        let over = try #require(history.changed.first)
        #expect(opened.id == over.id && opened.id.description.hasPrefix("inc_"))
        let (first, second) = (opened.event, over.event)
        #expect((first.seq, second.seq) == (1, 2))
        #expect((first.closed, second.closed) == (nil, .settled) && second.final)
        #expect(first.id != second.id)
        #expect(first.key.account == .operators && first.key.kind == .incident)
        #expect(PollerWatches.Event(json: first.json) == first)
        let object = try #require(RawJSON(second.json)?.member("object"))
        let wire = try PollerWire.Incident(reading: object)
        #expect(wire.status.known == .resolved && wire.subject == "ep_1")
        #expect(wire.message == "ep_1 is not well" && wire.action == "mend it")
        #expect(wire.since.ms == Self.start.ms && wire.resolvedAt?.ms == Self.start.ms + 10_000)
        #expect(PollerIncidents.Incident(second) == over)
        #expect(PollerIncidents.Incident(stored: over.stored) == over)
        // Another process that observes the same creates the same event.
        var again = BoardHistory()
        again.see(0, [.endpointDisabled: observation("ep_1")])
        #expect(again.changed.first?.event == first)
    }
}
