import Poller

/// A watch in Redis.
///
/// *Shape*: facts = the policy's name, or nothing where it is nobody's choice (`auto`), with `|l` when the watch is
/// to end once its source has left pending and `|f` when nothing but a final status ends it, and then, where there is
/// any, `|` and a letter for each thing to be done before a deadline passes (``ActLetter``), as in `standard||c`. A fourth fact is the trace of a watch that has one (`TraceContext`), as
/// in `standard|||S_kvNXezTaajzpKdDg5HNgDwZ6oLqQK3AQ`; it is one of the facts so that the claim of a watch without
/// one reads no more than before; state `status|attempts|step|failures|last polled ms|malformed`
/// and, once there is a charge, `|` and how far it has come, and once there is a detail (``Observation/detail``, up to
/// seven characters), a further `|` and that, and while answers say nothing of the payment another one and their
/// ``AnswerStreak`` (missing before the first poll); a `|` in a status is ``bar``; secret = the client secret where it is
/// short (``PackedSecret``); private value = one that is long, and after a newline the order to charge, if there is
/// one. Account and kind are told by the lane: written again they would cost a watch 48 bytes.
enum WatchRecord: ItemRecord {
    static func facts(of watch: NewWatch) -> String {
        facts(watch.policy, watch.goal, watch.acts, watch.trace)
    }

    static func facts(of watch: Watch) -> String {
        facts(watch.policy, watch.goal, watch.acts, watch.trace)
    }

    private static func facts(
        _ policy: PollPolicy,
        _ wanted: WatchGoal,
        _ acts: DeadlineActs,
        _ trace: TraceContext?
    ) -> String {
        let goal: GoalLetter? =
            switch wanted {
            case .settled: nil
            case .leftPending: .leftPending
            case .final: .final
            }
        let letters = letters(acts).map(\.rawValue).joined()
        var facts = [policy == .auto ? "" : policy.name]
        if goal != nil || !letters.isEmpty { facts.append(goal?.rawValue ?? "") }
        if !letters.isEmpty { facts.append(letters) }
        if let trace {
            while facts.count < 3 { facts.append("") }
            facts.append(trace.packed)
        }
        return Packed.join(facts)
    }

    private static func letters(_ acts: DeadlineActs) -> [ActLetter] {
        var letters: [ActLetter] = []
        switch acts.authorisation {
        case .capture: letters.append(.capture)
        case .cancel: letters.append(.release)
        case .leave: letters.append(.leaveHold)
        case nil: break
        }
        switch acts.abandoned {
        case .cancel: letters.append(.abandon)
        case .leave: letters.append(.leaveAbandoned)
        case nil: break
        }
        return letters
    }

    private static func policy(_ facts: [String]) -> PollPolicy? {
        guard let name = facts.first, !name.isEmpty else { return .auto }
        return PollPolicy.all.first { $0.name == name }
    }

    private static func acts(_ facts: [String]) -> DeadlineActs {
        var acts = DeadlineActs.unsaid
        for letter in facts.count > 2 ? facts[2] : "" {
            switch ActLetter(rawValue: String(letter)) {
            case .capture: acts.authorisation = .capture
            case .release: acts.authorisation = .cancel
            case .leaveHold: acts.authorisation = .leave
            case .abandon: acts.abandoned = .cancel
            case .leaveAbandoned: acts.abandoned = .leave
            case nil: break
            }
        }
        return acts
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
        // What has no source is the rest of an item that was deleted while it was leased.
        guard fields.isReadable, !fields.source.isEmpty,
            let (account, kind) = LaneID(unchecked: fields.lane).accountAndKind,
            let policy = policy(facts), let known = state(fields.state)
        else { return nil }
        let long = fields.privateValue.split(
            separator: "\n",
            maxSplits: 1,
            omittingEmptySubsequences: false
        )
        let source = SourceID(unchecked: fields.source)
        let given = long.first.flatMap { $0.isEmpty ? nil : String($0) }
        return Watch(
            key: WatchKey(
                account: account,
                source: source,
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
            news: news(fields),
            hintedAt: fields.hinted,
            clientSecret: given.map { fields.given($0, account) }
                ?? fields.secret.map { fields.learned($0, source, account) },
            charge: long.count == 2 ? ChargeOrder(json: String(long[1])) : nil,
            acts: acts(facts),
            order: fields.order.map(OrderID.init(unchecked:)),
            trace: facts.count > 3 ? TraceContext(packed: facts[3]) : nil,
            state: known,
            payment: fields.payment.map { PaymentMemory(packed: $0, charge: known.charge.charge) }
        )
    }

    private static func news(_ fields: ItemFields) -> HintNews? {
        switch fields.news?.first.flatMap({ HintLetter(rawValue: String($0)) }) {
        case .anything: .anything
        case .outcome: .outcome
        case .money: .money
        case nil: nil
        }
    }

    static func state(after change: WatchChange) -> String { text(of: change.state) }

    static func text(of state: WatchState) -> String {
        Packed.join(
            [
                state.status.map { text(of: $0) } ?? "", String(state.attempts), String(state.step),
                String(state.failures), state.lastPolledAt.map { String($0.ms) } ?? "",
                String(state.malformed),
            ] + tail(state)
        )
    }

    static func error(of change: WatchChange) -> String? { change.lastError }

    static func payment(after change: WatchChange) -> String? { change.payment?.packed }

    static func secret(after change: WatchChange, sealedBy keys: MasterKeys) -> [UInt8]? {
        guard let secret = change.secret?.reveal, let key = change.events.first?.key,
            let packed = PackedSecret.packed(secret, key.source)
        else { return nil }
        return keys.seal(
            bytes: Array(packed.utf8),
            at: .learned(key.id.description, key.account)
        )
    }

    static func searchEntries(after change: WatchChange) -> String {
        SearchEntries(after: change).stored
    }

    static func seesMoney(_ change: WatchChange) -> Bool { change.seesMoney }

    static func entry(of change: WatchChange) -> ItemEntry {
        change.events.isEmpty ? .nothing : .events(change.events)
    }

    /// Reads a state; `nil` when a number in it is out of range.
    static func state(_ text: String) -> WatchState? {
        let parts = Packed.split(text)
        guard parts.count >= 6 else { return WatchState() }
        let lastPolledAt = StoredValue(time: parts[4])
        guard let attempts = Int(countOrNothing: parts[1]),
            let step = Int(countOrNothing: parts[2]),
            let failures = Int(countOrNothing: parts[3]),
            let malformed = Int(countOrNothing: parts[5]), lastPolledAt.isReadable
        else { return nil }
        return WatchState(
            status: parts[0].isEmpty ? nil : status(parts[0]),
            detail: parts.count > 7 ? parts[7] : "",
            attempts: attempts,
            step: step,
            failures: failures,
            malformed: malformed,
            streak: parts.count > 8 ? AnswerStreak(packed: parts[8]) : nil,
            lastPolledAt: lastPolledAt.value,
            charge: parts.count > 6 ? progress(parts[6]) : .none
        )
    }

    /// Stands for the separator in a status, which has no control character itself.
    private static let bar: Character = "\u{1}"

    private static func text(of status: SourceStatus) -> String {
        status.description.utf8.contains(UInt8(ascii: "|"))
            ? String(status.description.map { $0 == "|" ? bar : $0 }) : status.description
    }

    private static func status(_ text: String) -> SourceStatus {
        SourceStatus(
            unchecked: text.utf8.contains(1) ? String(text.map { $0 == bar ? "|" : $0 }) : text
        )
    }

    /// What most watches do not have.
    private static func tail(_ state: WatchState) -> [String] {
        if let streak = state.streak {
            return [charge(state.charge), state.detail, streak.packed]
        }
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

/// A payment's own secret in an item's hash, as a poll has seen it or somebody has handed it in.
///
/// *Shape*: a letter for what it begins with, which is the same for all or is told by the id, and the rest:
/// `s` for `src_client_secret_`, `i` for `<id>_secret_`, `w` for a whole one; sealed as bytes where there is a
/// master key. Some 25 bytes of each payment watched, 57 when they are sealed; a value of more than 64 would
/// cost the item its compact form (`hash-max-listpack-value`): learned it is not kept, handed in it is a long value.
enum PackedSecret {
    private static let ofSources = "src_client_secret_"

    /// The value to keep; nil for one that is too long.
    static func packed(_ secret: String, _ source: SourceID) -> String? {
        let ofIntents = "\(source)_secret_"
        let packed =
            if secret.hasPrefix(ofSources) {
                "s" + String(secret.dropFirst(ofSources.count))
            } else if secret.hasPrefix(ofIntents) {
                "i" + String(secret.dropFirst(ofIntents.count))
            } else {
                "w" + secret
            }
        return packed.utf8.count <= ShortText.bytesMax ? packed : nil
    }

    /// The secret again.
    static func text(of packed: String, _ source: SourceID) -> String {
        let rest = String(packed.dropFirst())
        switch packed.first {
        case "s": return ofSources + rest
        case "i": return "\(source)_secret_" + rest
        default: return rest
        }
    }
}

extension ItemFields {
    /// A long secret that was handed in; opened when it is asked for.
    fileprivate func given(_ stored: String, _ account: AccountID) -> ClientSecret {
        let place = SealedPlace.given(id, account)
        return ClientSecret { [masterKeys] in try? masterKeys.open(stored, at: place) }
    }

    /// The short one, or the one that a poll has learned, likewise.
    fileprivate func learned(
        _ stored: [UInt8],
        _ source: SourceID,
        _ account: AccountID
    ) -> ClientSecret {
        let place = SealedPlace.learned(id, account)
        return ClientSecret { [masterKeys] in
            // Who cannot open it has no secret; `pollerd rekey` tells which ones those are.
            guard let packed = try? masterKeys.open(bytes: stored, at: place) else { return nil }
            return PackedSecret.text(of: String(decoding: packed, as: UTF8.self), source)
        }
    }
}

extension SealedPlace {
    /// The secret that came with a watch, of the item.
    static func given(_ item: String, _ account: AccountID) -> SealedPlace {
        SealedPlace(.clientSecret, item, of: account)
    }

    /// The secret that a poll has learned, of the item.
    static func learned(_ item: String, _ account: AccountID) -> SealedPlace {
        SealedPlace(.learnedSecret, item, of: account)
    }
}
