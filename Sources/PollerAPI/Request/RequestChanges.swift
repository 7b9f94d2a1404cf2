import Foundation
import Hummingbird
import JSONText
import PollerIdentity
import PollerOperations
import PollerQueue
import PollerWire
import Synchronization

/// The audit behaviour of a route.
enum RouteAudit: Hashable, Sendable {
    /// No entry: the route only reads.
    case read
    /// One entry per change.
    case change
    /// No entry although the route writes, with the reason.
    ///
    /// Machines write thousands of times per second, and their entries would push people's changes out of the trail.
    case traffic(String)
}

/// The changes of a request, as reported by its handler.
///
/// A class, because the handler holds a copy of the context that contains it.
final class RequestChanges: Sendable {
    /// One change.
    struct Note: Sendable {
        let target: AuditTarget
        let account: AccountID?
        let before: RawJSON?
        let after: RawJSON?
    }

    /// Fields excluded from the trail of an endpoint, a key or a lane: secrets, and values that change automatically.
    private static let hidden: Set<String> = [
        "id", "account", "secret", "key", "client_secret", "headers", "health", "created_at",
        "updated_at", "last_used_at", "disabled_at", "ordering", "origin",
    ]

    private let state = Mutex<(notes: [Note], isUnchanged: Bool)>(([], false))

    /// Records an action with short facts.
    func recordAction(
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

    /// Records a change from the representations of its target before and after; `nil` if there is none.
    ///
    /// A request that changes nothing leaves no entry. `names` selects the fields to record; `nil` selects all except
    /// secrets and values that change automatically. `hiddenDiffer` names the fields whose change is recorded without
    /// their values.
    func recordChange<Shown: WireObject>(
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

    /// Changes the store, and records an action with an unknown result if its answer is lost and `isSent` is true.
    ///
    /// The change may have happened: for example, the server has stored it, but too few replicas have confirmed it. A
    /// repeat would then find nothing to change, and leave no entry either.
    func attempt<Result>(
        _ target: AuditTarget,
        of account: @autoclosure () -> AccountID?,
        isSent: @autoclosure () -> Bool = true,
        _ change: () async throws(StoreError) -> Result
    ) async throws(StoreError) -> Result {
        do throws(StoreError) {
            return try await change()
        } catch {
            if case .unavailable(_, true) = error, isSent() {
                recordAction(target, of: account(), to: ["result": "unknown"])
            }
            throw error
        }
    }

    /// Records that the target already was in the requested state.
    func recordUnchanged() { state.withLock { $0.isUnchanged = true } }

    /// The recorded changes, and whether the handler reported that nothing changed.
    var recorded: (notes: [Note], isUnchanged: Bool) { state.withLock { $0 } }

    private func note(_ note: Note) { state.withLock { $0.notes.append(note) } }

    /// Returns the difference of two representations, as in ``recordChange(_:of:from:to:only:hiddenDiffer:)``.
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

/// Writes the changes of requests to the audit trail.
///
/// ``Route/answered(by:)`` calls every handler and then this type. So every route that changes something is audited,
/// and the notes of its handler add detail to the entry.
struct RequestAudit: Sendable {
    /// The minimum interval between recorded refusals of one key at one route.
    ///
    /// A loop with the wrong key must not push all other entries out of the trail.
    static let refusalPace = Duration.seconds(60)

    let recorder: AuditRecorder
    /// The time of the last recorded refusal, by key and operation.
    private let refusals: RecentRefusals

    init(recorder: AuditRecorder, clock: any Clock<Duration>) {
        self.recorder = recorder
        refusals = RecentRefusals(clock: clock)
    }

    /// Records the changes of a request after its handler has returned.
    func record(_ route: RouteDescription, _ context: APIContext) async {
        guard route.audit == .change else { return }
        let (notes, isUnchanged) = context.changes.recorded
        for note in notes {
            await recorder.record(change(route, context, note))
        }
        guard notes.isEmpty, !isUnchanged else { return }
        let note = RequestChanges.Note(
            target: route.target(context),
            account: nil,
            before: nil,
            after: nil
        )
        await recorder.record(change(route, context, note))
    }

    /// Records the changes of a request that failed, and the refusal of a key without the permission.
    func record(failed error: any Error, _ route: RouteDescription, _ context: APIContext) async {
        if route.audit == .change {
            for note in context.changes.recorded.notes {
                await recorder.record(change(route, context, note))
            }
        }
        guard let problem = error as? Problem, problem.code == .notAllowed, route.audit != .read
        else { return }
        let actor = context.caller.actor
        guard refusals.shouldRecord("\(context.caller.name)\n\(route.operation)") else { return }
        let accounts = context.caller.accounts
        let note = RequestChanges.Note(
            target: route.target(context),
            // A key of a single account is that account's responsibility.
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
        _ note: RequestChanges.Note,
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

/// The refusals that were recorded recently.
private final class RecentRefusals: Sendable {
    /// The maximum number of entries, one per key and route.
    ///
    /// At the limit all are dropped, and refusals are recorded
    /// again.
    private static let countMax = 1000

    private let clock: any Clock<Duration>
    private let noted = Mutex<[String: @Sendable () -> Duration]>([:])

    init(clock: any Clock<Duration>) {
        self.clock = clock
    }

    func shouldRecord(_ name: String) -> Bool {
        noted.withLock { noted in
            if let since = noted[name], since() < RequestAudit.refusalPace { return false }
            if noted.count >= Self.countMax { noted = [:] }
            noted[name] = clock.stopwatch()
            return true
        }
    }
}

extension RouteDescription {
    /// Returns the target from the path, for a handler that reported none.
    fileprivate func target(_ context: APIContext) -> AuditTarget {
        let kinds: [(name: String, kind: AuditTarget.Kind)] = [
            ("source", .watch), ("endpoint", .endpoint), ("delivery", .delivery),
            ("lane", .lane), ("key", .key), ("entry", .entry),
        ]
        for (name, kind) in kinds where path.contains("{\(name)}") {
            // A rejected request has not been parsed yet. A lane may be two segments.
            let segments = kind == .lane ? [name, "endpoint"] : [name]
            let text = segments.compactMap { context.parameters.get($0) }.joined(separator: "/")
            return AuditTarget(kind, String((text.removingPercentEncoding ?? text).prefix(128)))
        }
        return AuditTarget(.store, path)
    }
}
