import Foundation
import Hummingbird
import JSONText
import Poller
import PollerIdentity
import PollerWire
import Synchronization

/// What a route leaves in the audit trail.
enum RouteAudit: Hashable, Sendable {
    /// Nothing: it reads.
    case look
    /// An entry for each change.
    case change
    /// Nothing, although it writes: with the reason. A trail of people's changes that holds what
    /// machines do thousands of times a second would soon hold nothing else.
    case traffic(String)
}

/// What a request has changed, as its handler tells it.
///
/// A class, because the handler has a copy of the context in which it stands.
final class ChangeNotes: Sendable {
    /// One change.
    struct Note: Sendable {
        let target: AuditTarget
        let account: AccountID?
        let before: RawJSON?
        let after: RawJSON?
    }

    /// What people are not told of an endpoint, a key or a lane: secrets, and what changes by itself.
    private static let hidden: Set<String> = [
        "id", "account", "secret", "key", "client_secret", "headers", "health", "created_at",
        "updated_at", "last_used_at", "disabled_at", "ordering", "origin",
    ]

    private let state = Mutex<(notes: [Note], isUnchanged: Bool)>(([], false))

    /// Tells of something that was done, in a few words.
    func did(
        _ target: AuditTarget,
        of account: AccountID?,
        from before: KeyValuePairs<String, String>? = nil,
        to after: KeyValuePairs<String, String>? = nil
    ) {
        let (old, new) = AuditFacts.difference(
            before.map { AuditFacts($0) },
            after.map { AuditFacts($0) }
        )
        note(Note(target: target, account: account, before: old, after: new))
    }

    /// Tells of a change by what is shown of its target before and after; nil for what is not there.
    ///
    /// A request that has changed nothing leaves nothing. `names`: the fields worth telling; nil for
    /// all that are neither secret nor change by themselves. `hiddenDiffer`: fields that have changed
    /// without anybody being told their values.
    func changed<Shown: WireObject>(
        _ target: AuditTarget,
        of account: AccountID?,
        from before: Shown?,
        to after: Shown?,
        only names: Set<String>? = nil,
        hiddenDiffer hidden: [String] = []
    ) {
        let (old, new) = Self.difference(from: before, to: after, only: names, hiddenDiffer: hidden)
        if before != nil, after != nil, old == new {
            state.withLock { $0.isUnchanged = true }
        } else {
            note(Note(target: target, account: account, before: old, after: new))
        }
    }

    /// Says that the request has found everything as it wants it.
    func nothing() { state.withLock { $0.isUnchanged = true } }

    /// What there is to note, and whether the handler has said that nothing has changed.
    var told: (notes: [Note], isUnchanged: Bool) { state.withLock { $0 } }

    private func note(_ note: Note) { state.withLock { $0.notes.append(note) } }

    /// What differs between two states of something, as ``changed(_:of:from:to:only:hiddenDiffer:)`` tells it.
    static func difference<Shown: WireObject>(
        from before: Shown?,
        to after: Shown?,
        only names: Set<String>? = nil,
        hiddenDiffer hidden: [String] = []
    ) -> (before: RawJSON?, after: RawJSON?) {
        func facts(_ shown: Shown?, _ value: String) -> AuditFacts? {
            shown.map { shown in
                hidden.reduce(Self.facts(shown, names)) { $0.with($1, value) }
            }
        }
        return AuditFacts.difference(facts(before, "(not shown)"), facts(after, "(changed)"))
    }

    private static func facts(_ object: some WireObject, _ names: Set<String>?) -> AuditFacts {
        let facts = AuditFacts(of: RawJSON(unchecked: object.json), without: hidden)
        return names.map(facts.only) ?? facts
    }
}

/// Writes what requests have changed into the trail.
///
/// Every handler is called by ``Route/answered(by:)``, which comes here afterwards: a route that changes
/// something is audited because it is a route. What its handler tells makes the entry richer.
struct RequestAudit: Sendable {
    /// Refusals of one key at one route are noted once in that time: a loop with the wrong key must not
    /// wash everything else out of the trail.
    static let refusalPace = Duration.seconds(60)

    let recorder: AuditRecorder
    /// When a refusal was noted last, by key and operation.
    private let refusals: RefusalMemory

    init(recorder: AuditRecorder, clock: any Clock<Duration>) {
        self.recorder = recorder
        refusals = RefusalMemory(clock: clock)
    }

    /// Notes what a request has done, once its handler has answered.
    func record(_ route: RouteDescription, _ context: APIContext) async {
        guard route.audit == .change else { return }
        let (notes, isUnchanged) = context.changes.told
        for note in notes {
            await recorder.record(change(route, context, note))
        }
        guard notes.isEmpty, !isUnchanged else { return }
        let note = ChangeNotes.Note(
            target: route.target(context),
            account: nil,
            before: nil,
            after: nil
        )
        await recorder.record(change(route, context, note))
    }

    /// Notes what a request has done before it failed, and that a key was not allowed to.
    func record(failed error: any Error, _ route: RouteDescription, _ context: APIContext) async {
        if route.audit == .change {
            for note in context.changes.told.notes {
                await recorder.record(change(route, context, note))
            }
        }
        guard let problem = error as? Problem, problem.code == .notAllowed, route.audit != .look
        else { return }
        let actor = context.caller.actor
        guard refusals.isNews("\(context.caller.name)\n\(route.operation)") else { return }
        let accounts = context.caller.accounts
        let note = ChangeNotes.Note(
            target: route.target(context),
            // A key of one account is that account's to look after.
            account: accounts.isAll || accounts.names?.count != 1 ? nil : accounts.standard,
            before: nil,
            after: nil
        )
        await recorder.record(
            change(route, context, note, by: actor, refused: problem.code.rawValue)
        )
    }

    private func change(
        _ route: RouteDescription,
        _ context: APIContext,
        _ note: ChangeNotes.Note,
        by actor: AuditActor? = nil,
        refused: String? = nil
    ) -> AuditedChange {
        AuditedChange(
            by: actor ?? context.caller.actor,
            address: context.peer,
            request: context.requestID,
            action: route.operation,
            target: note.target,
            account: note.account,
            before: note.before,
            after: note.after,
            refused: refused
        )
    }
}

/// Which refusals were noted a moment ago.
///
/// A class, because every request shares it.
private final class RefusalMemory: Sendable {
    /// A thousand keys at one route each; beyond that everything is forgotten, and noted once more.
    private static let countMax = 1000

    private let clock: any Clock<Duration>
    private let noted = Mutex<[String: @Sendable () -> Duration]>([:])

    init(clock: any Clock<Duration>) {
        self.clock = clock
    }

    func isNews(_ name: String) -> Bool {
        noted.withLock { noted in
            if let since = noted[name], since() < RequestAudit.refusalPace { return false }
            if noted.count >= Self.countMax { noted = [:] }
            noted[name] = clock.stopwatch()
            return true
        }
    }
}

extension RouteDescription {
    /// What a request means by its path, where the handler has not said more.
    fileprivate func target(_ context: APIContext) -> AuditTarget {
        let kinds: [(name: String, kind: AuditTarget.Kind)] = [
            ("source", .watch), ("endpoint", .endpoint), ("delivery", .delivery),
            ("lane", .lane), ("key", .key), ("entry", .entry),
        ]
        for (name, kind) in kinds where path.contains("{\(name)}") {
            // Of a request that was refused nobody has read it yet. A lane may be two segments.
            let segments = kind == .lane ? [name, "endpoint"] : [name]
            let text = segments.compactMap { context.parameters.get($0) }.joined(separator: "/")
            return AuditTarget(kind, String((text.removingPercentEncoding ?? text).prefix(128)))
        }
        return AuditTarget(.store, path)
    }
}
