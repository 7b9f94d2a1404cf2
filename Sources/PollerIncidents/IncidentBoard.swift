import JSONText
package import PollerIdentity
import PollerWire
import SafeNumbers

/// Decides which incidents are reported to operators, and when, as a pure state machine.
///
/// ```
/// observed ─▶ rising ──lasts for a while──▶ open, reported ──healthy for a while──▶ resolved, reported
///                └── not observed: dropped        └── observed again: still open
/// ```
/// *Problem*: problems come and go. A report at each check would be hundreds of emails. A report at each change would
/// be two per flap of a lane. A thousand endpoints that fail at once would cause a thousand.
///
/// *Approach*: the report is an ``Incident``. It begins once the problem has lasted for a while, or at once if it does
/// not end on its own. It ends once the cluster has been healthy for a while. Up to ``perKindMax`` of a kind are
/// reported separately, each with its subject; all others are reported together, as one more.
///
/// *Several processes* take turns to check (``IncidentStore``): the board is in the store, and a change of it is stored
/// together with its reports, or not at all.
///
/// *An unchecked part* is neither healthy nor affected: a check that could not read something does not change its
/// state.
///
/// *Limits*: of each kind ``perKindMax`` and one more are open, and as many rising.
package struct IncidentBoard: Hashable, Sendable {
    /// The number of incidents of a kind that are reported separately: as many as an operator can read at once.
    package static let perKindMax = 5
    /// The number of subjects that a combined report names.
    private static let namedMax = 3

    /// An observed problem that is not reported yet.
    private struct PendingProblem: Hashable, Sendable {
        let kindName: String
        let subject: String?
        let since: Timestamp
    }

    /// The reported incidents that are not resolved, in the order of their reports.
    package private(set) var open: [Incident] = []
    private var pending: [PendingProblem] = []

    /// Creates the board of a healthy cluster.
    package init() {}

    /// Processes the results of a check, by kind; kinds that could not be checked are left out.
    ///
    /// `hold` is how long a problem that may end on its own must last, and how long the cluster must be healthy again.
    ///
    /// - Returns: the incidents that begin or end with this check; their ``Incident/event`` reports it.
    package mutating func note(
        _ seen: [IncidentKind: IncidentObservation],
        at now: Timestamp,
        hold: Duration
    ) -> [Incident] {
        var changes: [Incident] = []
        // A fixed order, so that identical checks cause identical reports.
        for kind in IncidentKind.allCases {
            guard let observation = seen[kind] else { continue }
            let reportable = reportable(kind, observation)
            changes += settle(kind, reportable, observation, now, hold)
            changes += openLasting(
                kind,
                reportable,
                observation,
                now,
                kind.endsAutomatically ? hold : .zero
            )
        }
        return changes
    }

    /// Returns the problems of a kind as they are reported: separately open ones, and the rest separately or together.
    private func reportable(
        _ kind: IncidentKind,
        _ observation: IncidentObservation
    ) -> [IncidentObservation.Problem] {
        let reported = open.filter { $0.kindName == kind.rawValue }
        let named = Set(reported.compactMap(\.subject))
        let isTogether = reported.contains { $0.subject == nil }
        func isNamed(_ problem: IncidentObservation.Problem) -> Bool {
            problem.subject.map(named.contains) ?? false
        }
        let rest = observation.problems.filter { !isNamed($0) }
        let isMany = isTogether || rest.count > Self.perKindMax - named.count
        guard isMany, !rest.isEmpty, rest.allSatisfy({ $0.subject != nil }) else {
            return observation.problems
        }
        return observation.problems.filter(isNamed) + [Self.together(rest, kind)]
    }

    private static func together(
        _ problems: [IncidentObservation.Problem],
        _ kind: IncidentKind
    ) -> IncidentObservation.Problem {
        let count = problems.reduce(0) { $0.addingSaturating($1.count) }
        let since = problems.compactMap(\.since).min()
        guard problems.count > 1 else {
            return IncidentObservation.Problem(
                nil,
                count: count,
                problems.first?.message ?? "",
                since: since
            )
        }
        let names = problems.compactMap(\.subject).sorted()
        let more = names.count - namedMax
        let shown =
            names.prefix(namedMax).joined(separator: ", ") + (more > 0 ? " and \(more) more" : "")
        return IncidentObservation.Problem(
            nil,
            count: count,
            "\(names.count) \(kind.pluralPhrase): \(shown)",
            since: since
        )
    }

    /// Updates the open incidents of a kind; returns those that are resolved.
    private mutating func settle(
        _ kind: IncidentKind,
        _ reportable: [IncidentObservation.Problem],
        _ observation: IncidentObservation,
        _ now: Timestamp,
        _ hold: Duration
    ) -> [Incident] {
        var over: [Incident] = []
        for index in open.indices where open[index].kind == kind {
            if let problem = reportable.first(where: { $0.subject == open[index].subject }) {
                open[index].healthySince = nil
                open[index].count = problem.count
                open[index].message = problem.message
                continue
            }
            guard observation.isWhole else { continue }
            let healthySince = open[index].healthySince ?? now
            open[index].healthySince = healthySince
            guard now - healthySince >= hold else { continue }
            open[index].healthySince = nil
            open[index].resolvedAt = now
            over.append(open[index])
        }
        open.removeAll { $0.resolvedAt != nil }
        return over
    }

    /// Updates the rising problems of a kind; returns the incidents that begin now.
    ///
    /// A problem that an incomplete check has not observed is still rising, unless the check has observed a combined
    /// problem, which is as old as all of them.
    private mutating func openLasting(
        _ kind: IncidentKind,
        _ reportable: [IncidentObservation.Problem],
        _ observation: IncidentObservation,
        _ now: Timestamp,
        _ hold: Duration
    ) -> [Incident] {
        let reported = open.filter { $0.kindName == kind.rawValue }
        let known = pending.filter { $0.kindName == kind.rawValue }
        pending.removeAll { $0.kindName == kind.rawValue }
        var begun: [Incident] = []
        if !observation.isWhole, !reportable.contains(where: { $0.subject == nil }) {
            let unobserved = known.filter { problem in
                !reportable.contains { $0.subject == problem.subject }
            }
            pending += unobserved.prefix(max(Self.perKindMax + 1 - reportable.count, 0))
        }
        for problem in reportable where !reported.contains(where: { $0.subject == problem.subject })
        {
            // A combined problem is as old as its oldest part.
            let mine = known.filter { problem.subject == nil || $0.subject == problem.subject }
            let since = problem.since ?? mine.map(\.since).min() ?? now
            guard now - since >= hold else {
                pending.append(
                    PendingProblem(kindName: kind.rawValue, subject: problem.subject, since: since)
                )
                continue
            }
            begun.append(
                Incident(kind, of: problem, action: observation.action, since: since, at: now)
            )
        }
        open += begun
        return begun
    }
}

/// The storage of a board.
extension IncidentBoard {
    /// The stored form of a board.
    private struct Record: WireObject, Hashable {
        var open: [StoredIncident] = []
        var pending: [StoredProblem] = []

        static let shape = Shape<Record> {
            Field("open", \.open)
            Field("rising", \.pending)
        }
    }

    /// The stored form of an open incident, with the time since which it is not observed.
    private struct StoredIncident: WireObject, Hashable {
        var incident = PollerWire.Incident()
        var healthySince: Time?

        static let shape = Shape<StoredIncident> {
            Field("incident", \.incident)
            Field("well_since", \.healthySince)
        }
    }

    /// The stored form of a rising problem.
    private struct StoredProblem: WireObject, Hashable {
        var kind = ""
        var subject: String?
        var since = Time(ms: 0)

        static let shape = Shape<StoredProblem> {
            Field("kind", \.kind)
            Field("subject", \.subject)
            Field("since", \.since)
        }
    }

    /// The stored form, at most about 30 KB.
    package var stored: String {
        Record {
            $0.open = open.map { incident in
                StoredIncident {
                    $0.incident = incident.wire
                    $0.healthySince = incident.healthySince.map { Time(ms: $0.ms) }
                }
            }
            $0.pending = pending.map { one in
                StoredProblem {
                    $0.kind = one.kindName
                    $0.subject = one.subject
                    $0.since = Time(ms: one.since.ms)
                }
            }
        }.json
    }

    /// Parses ``stored``; any other text gives an empty board, so that problems are reported again rather than never.
    package init(stored text: String) {
        // Only this system writes the board.
        guard let json = RawJSON(text), let record = try? Record(reading: json) else { return }
        open = record.open.map { one in
            Incident(one.incident, healthySince: one.healthySince.map { Timestamp(ms: $0.ms) })
        }
        pending = record.pending.map { one in
            PendingProblem(
                kindName: one.kind,
                subject: one.subject,
                since: Timestamp(ms: one.since.ms)
            )
        }
    }
}
