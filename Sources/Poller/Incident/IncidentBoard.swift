import JSONText
package import PollerIdentity
import PollerWire
import SafeNumbers

/// What operators are told, and when: pure, and the one place that knows.
///
/// ```
/// seen ─▶ rising ──lasts for a while──▶ open, told ──well for a while──▶ over, told
///           └── seen no more: forgotten        └── seen again: still open
/// ```
/// *Problem*: trouble comes and goes. Told at each look it would be hundreds of mails; told at each change it would be two for every
/// flap of a lane; and a thousand endpoints that fail at once would be a thousand.
/// *Approach*: what is told is an ``Incident``, which begins once the trouble has lasted for a while (at once, for what does not
/// pass by itself) and is over once it has been well for a while. Up to ``perKindMax`` of a kind are
/// told one by one, each with its subject; what comes beyond these is told together, as one more.
/// *Several processes* look in turns (``IncidentStore``): the board is kept in the store, and a change of it
/// is stored together with what it tells, or not at all.
/// *What was not looked at* is neither well nor in trouble: a look that could not read something changes
/// nothing of it.
/// *Bounds*: of each kind ``perKindMax`` and one more are open, and as many rise.
package struct IncidentBoard: Hashable, Sendable {
    /// Incidents of a kind that are told one by one: as many as somebody reads, at once.
    package static let perKindMax = 5
    /// Subjects that are named when several are told together.
    private static let namedMax = 3

    /// Trouble that was seen and is not told yet.
    private struct Rising: Hashable, Sendable {
        let kindName: String
        let subject: String?
        let since: Timestamp
    }

    /// What is told and not over, in the order in which it was told.
    package private(set) var open: [Incident] = []
    private var rising: [Rising] = []

    /// A board of a cluster in which all is well.
    package init() {}

    /// Takes in what a look saw, by kind; a kind that could not be looked at is left out.
    ///
    /// `hold` is how long trouble that may pass must last, and how long it must be well.
    ///
    /// - Returns: the incidents that have begun or are over with this; their ``Incident/event`` tells it.
    package mutating func note(
        _ seen: [IncidentKind: Sighting],
        at now: Timestamp,
        hold: Duration
    ) -> [Incident] {
        var news: [Incident] = []
        // In an order of their own, so that the same look always tells the same.
        for kind in IncidentKind.allCases {
            guard let sighting = seen[kind] else { continue }
            let standing = standing(kind, sighting)
            news += settle(kind, standing, sighting, now, hold)
            news += rise(kind, standing, sighting.action, now, kind.mayPass ? hold : .zero)
        }
        return news
    }

    /// The troubles of a kind as they are told: those that are open by themselves, and the rest one by
    /// one or together.
    private func standing(_ kind: IncidentKind, _ sighting: Sighting) -> [Sighting.Trouble] {
        let told = open.filter { $0.kindName == kind.rawValue }
        let named = Set(told.compactMap(\.subject))
        let isTogether = told.contains { $0.subject == nil }
        func isNamed(_ trouble: Sighting.Trouble) -> Bool {
            trouble.subject.map(named.contains) ?? false
        }
        let rest = sighting.troubles.filter { !isNamed($0) }
        let isMany = isTogether || rest.count > Self.perKindMax - named.count
        guard isMany, !rest.isEmpty, rest.allSatisfy({ $0.subject != nil }) else {
            return sighting.troubles
        }
        return sighting.troubles.filter(isNamed) + [Self.together(rest, kind)]
    }

    private static func together(
        _ troubles: [Sighting.Trouble],
        _ kind: IncidentKind
    ) -> Sighting.Trouble {
        let count = troubles.reduce(0) { $0.addingSaturating($1.count) }
        let since = troubles.compactMap(\.since).min()
        guard troubles.count > 1 else {
            return Sighting.Trouble(nil, count: count, troubles.first?.message ?? "", since: since)
        }
        let names = troubles.compactMap(\.subject).sorted()
        let more = names.count - namedMax
        let shown =
            names.prefix(namedMax).joined(separator: ", ") + (more > 0 ? " and \(more) more" : "")
        return Sighting.Trouble(
            nil,
            count: count,
            "\(names.count) \(kind.ofMany): \(shown)",
            since: since
        )
    }

    /// Takes over how the open ones of a kind stand; returns those that are over.
    private mutating func settle(
        _ kind: IncidentKind,
        _ standing: [Sighting.Trouble],
        _ sighting: Sighting,
        _ now: Timestamp,
        _ hold: Duration
    ) -> [Incident] {
        var over: [Incident] = []
        for index in open.indices where open[index].kind == kind {
            if let trouble = standing.first(where: { $0.subject == open[index].subject }) {
                open[index].wellSince = nil
                open[index].count = trouble.count
                open[index].message = trouble.message
                continue
            }
            guard sighting.isWhole else { continue }
            let wellSince = open[index].wellSince ?? now
            open[index].wellSince = wellSince
            guard now - wellSince >= hold else { continue }
            open[index].wellSince = nil
            open[index].resolvedAt = now
            over.append(open[index])
        }
        open.removeAll { $0.resolvedAt != nil }
        return over
    }

    /// Takes over what rises of a kind; returns what begins now.
    private mutating func rise(
        _ kind: IncidentKind,
        _ standing: [Sighting.Trouble],
        _ action: String?,
        _ now: Timestamp,
        _ hold: Duration
    ) -> [Incident] {
        let told = open.filter { $0.kindName == kind.rawValue }
        let known = rising.filter { $0.kindName == kind.rawValue }
        rising.removeAll { $0.kindName == kind.rawValue }
        var begun: [Incident] = []
        for trouble in standing where !told.contains(where: { $0.subject == trouble.subject }) {
            // What is told together is as old as the oldest of it.
            let mine = known.filter { trouble.subject == nil || $0.subject == trouble.subject }
            let since = trouble.since ?? mine.map(\.since).min() ?? now
            guard now - since >= hold else {
                rising.append(
                    Rising(kindName: kind.rawValue, subject: trouble.subject, since: since)
                )
                continue
            }
            begun.append(Incident(kind, of: trouble, action: action, since: since, at: now))
        }
        open += begun
        return begun
    }
}

/// How a board is kept.
extension IncidentBoard {
    /// What a board holds, as JSON.
    private struct Record: WireObject, Hashable {
        var open: [Opened] = []
        var rising: [Risen] = []

        static let shape = Shape<Record> {
            Field("open", \.open)
            Field("rising", \.rising)
        }
    }

    /// An open incident, and since when it was seen no more.
    private struct Opened: WireObject, Hashable {
        var incident = PollerWire.Incident()
        var wellSince: Time?

        static let shape = Shape<Opened> {
            Field("incident", \.incident)
            Field("well_since", \.wellSince)
        }
    }

    /// What rises.
    private struct Risen: WireObject, Hashable {
        var kind = ""
        var subject: String?
        var since = Time(ms: 0)

        static let shape = Shape<Risen> {
            Field("kind", \.kind)
            Field("subject", \.subject)
            Field("since", \.since)
        }
    }

    /// The board as a store keeps it, at most some 30 KB.
    package var stored: String {
        Record {
            $0.open = open.map { incident in
                Opened {
                    $0.incident = incident.wire
                    $0.wellSince = incident.wellSince.map { Time(ms: $0.ms) }
                }
            }
            $0.rising = rising.map { one in
                Risen {
                    $0.kind = one.kindName
                    $0.subject = one.subject
                    $0.since = Time(ms: one.since.ms)
                }
            }
        }.json
    }

    /// Reads a board back from ``stored``; an empty one where that is none: what is wrong is told anew
    /// rather than never.
    package init(stored text: String) {
        // Nobody but us writes where the board is kept.
        guard let json = RawJSON(text), let record = try? Record(reading: json) else { return }
        open = record.open.map { one in
            Incident(one.incident, wellSince: one.wellSince.map { Timestamp(ms: $0.ms) })
        }
        rising = record.rising.map { one in
            Rising(kindName: one.kind, subject: one.subject, since: Timestamp(ms: one.since.ms))
        }
    }
}
