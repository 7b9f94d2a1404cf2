import Poller

/// A watch in Redis.
///
/// *Shape*: facts = the policy's name, with `|l` when the watch is to end once its source has left
/// pending and `|f` when nothing but a final status ends it; state `status|attempts|step|failures|last polled ms|malformed`
/// and, once there is a charge, `|` and how far it has come, and once there is a detail (``Observation/detail``, up to
/// seven characters), a further `|` and that (missing before the first poll);
/// private value = client secret, and after a newline the order to charge, if there is one. Account
/// and kind are told by the lane: written again they would cost a watch 48 bytes.
enum WatchRecord: ItemRecord {
    static func facts(of watch: NewWatch) -> String {
        switch watch.goal {
        case .settled: watch.policy.name
        case .leftPending: Packed.join([watch.policy.name, GoalLetter.leftPending.rawValue])
        case .final: Packed.join([watch.policy.name, GoalLetter.final.rawValue])
        }
    }

    private static func goal(_ facts: [String]) -> WatchGoal {
        switch facts.count > 1 ? GoalLetter(rawValue: facts[1]) : nil {
        case .leftPending: .leftPending
        case .final: .final
        case nil: .settled
        }
    }

    static func item(_ fields: ItemFields) -> Watch? {
        let facts = Packed.split(fields.facts)
        guard let (account, kind) = LaneID(unchecked: fields.lane).accountAndKind,
            let policy = PollPolicy.all.first(where: { $0.name == facts.first })
        else { return nil }
        let long = fields.privateValue.split(
            separator: "\n",
            maxSplits: 1,
            omittingEmptySubsequences: false
        )
        let secret = long.first.map(String.init) ?? ""
        let known = state(fields.state)
        return Watch(
            key: WatchKey(
                account: account,
                source: SourceID(unchecked: fields.source),
                kind: kind
            ),
            policy: policy,
            goal: goal(facts),
            createdAt: fields.began,
            deadline: fields.deadline,
            run: fields.run,
            seq: fields.seq,
            reopenedSeq: fields.reopenedSeq,
            endedAs: fields.endedAs.flatMap(ClosedReason.init(rawValue:)),
            hintedAt: fields.hinted,
            clientSecret: secret.isEmpty ? nil : ClientSecret(unchecked: secret),
            charge: long.count == 2 ? ChargeOrder(json: String(long[1])) : nil,
            order: fields.order.map(OrderID.init(unchecked:)),
            state: known,
            payment: fields.payment.map { PaymentMemory(packed: $0, charge: known.charge.charge) }
        )
    }

    static func state(after change: WatchChange) -> String {
        let state = change.state
        return Packed.join(
            [
                state.status?.description ?? "", String(state.attempts), String(state.step),
                String(state.failures), state.lastPolledAt.map { String($0.ms) } ?? "",
                String(state.malformed),
            ] + tail(state)
        )
    }

    static func error(of change: WatchChange) -> String? { change.lastError }

    static func payment(after change: WatchChange) -> String? { change.payment?.packed }

    static func entry(of change: WatchChange) -> ItemEntry {
        change.events.isEmpty ? .nothing : .events(change.events)
    }

    private static func state(_ text: String) -> WatchState {
        let parts = Packed.split(text)
        guard parts.count >= 6 else { return WatchState() }
        return WatchState(
            status: parts[0].isEmpty ? nil : SourceStatus(unchecked: parts[0]),
            detail: parts.count > 7 ? parts[7] : "",
            attempts: Int(parts[1]) ?? 0,
            step: Int(parts[2]) ?? 0,
            failures: Int(parts[3]) ?? 0,
            malformed: Int(parts[5]) ?? 0,
            lastPolledAt: Int64(parts[4]).map(Timestamp.init(ms:)),
            charge: parts.count > 6 ? progress(parts[6]) : .none
        )
    }

    /// What most watches do not have.
    private static func tail(_ state: WatchState) -> [String] {
        if !state.detail.isEmpty { return [charge(state.charge), state.detail] }
        return state.charge == .none ? [] : [charge(state.charge)]
    }

    /// A letter and the charge's id; nothing before anybody tried to charge.
    private static func charge(_ progress: ChargeProgress) -> String {
        switch progress {
        case .none: ""
        case .doubtful: "?"
        case .pending(let id): "p\(id)"
        case .succeeded(let id): "s\(id)"
        case .failed: "f"
        }
    }

    private static func progress(_ text: String) -> ChargeProgress {
        let id = ChargeID(unchecked: String(text.dropFirst()))
        return switch text.first {
        case "?": .doubtful
        case "p": .pending(id)
        case "s": .succeeded(id)
        case "f": .failed
        default: .none
        }
    }
}
