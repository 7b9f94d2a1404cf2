import PollerIdentity
import PollerOperations
import PollerPayments
import PollerQueue
import PollerWatches
import RedisClient

extension WatchOptions {
    /// The stored options: those with another value than the default.
    var stored: [(field: WatchOption, value: String)] {
        WatchOption.allCases.compactMap { field in value(of: field).map { (field, $0) } }
    }

    /// The stored options as scripts get them: each field, then its value.
    var arguments: [RedisArgument] {
        stored.flatMap { [.string($0.field.rawValue), .string($0.value)] }
    }

    /// Returns an option as it is stored; `nil` for its default.
    private func value(of field: WatchOption) -> String? {
        switch field {
        case .policy: policy == .auto ? nil : policy.name
        case .goal:
            switch goal {
            case .settled: nil
            case .leftPending: GoalCode.leftPending.rawValue
            case .final: GoalCode.final.rawValue
            }
        case .authorisation: acts.authorisation?.rawValue
        case .abandoned: acts.abandoned?.rawValue
        case .trace: trace?.packed
        }
    }

    /// Reads stored options; `nil` for an unknown policy.
    init?(_ stored: [WatchOption: String]) {
        self.init()
        for (field, value) in stored {
            switch field {
            case .policy:
                guard let policy = PollPolicy.named.first(where: { $0.name == value }) else {
                    return nil
                }
                self.policy = policy
            case .goal:
                goal =
                    switch GoalCode(rawValue: value) {
                    case .leftPending: .leftPending
                    case .final: .final
                    case nil: .settled
                    }
            case .authorisation:
                acts.authorisation = DeadlineActs.Authorisation(rawValue: value)
            case .abandoned: acts.abandoned = DeadlineActs.Abandoned(rawValue: value)
            case .trace: trace = TraceContext(packed: value)
            }
        }
    }
}

/// A watch in Redis.
///
/// *Shape*:
/// - one field for each option (``WatchOption``);
/// - state: `status|attempts|step|failures|last polled ms|malformed`, then, as far as they are known, the charge and
///   its progress, ``Observation/detail`` (up to seven characters), and the ``AnswerStreak`` while responses do not
///   give the payment state. The last polled time is empty before the first poll. A `|` in a status is stored as
///   ``separatorReplacement``;
/// - secret: a short client secret (``PackedSecret``);
/// - private value: a long client secret, and after a newline the charge instruction, if there is one.
///
/// The lane has the account and the kind. Storing them again would take 48 bytes per watch.
enum WatchRecord: ItemRecord {
    static func item(_ fields: ItemFields) -> Watch? {
        // An item without a source is the remainder of one that was deleted while it was leased.
        guard fields.isReadable, !fields.source.isEmpty,
            let (account, kind) = LaneID(unchecked: fields.lane).accountAndKind,
            let options = WatchOptions(fields.options), let known = state(fields.state)
        else { return nil }
        let long = fields.privateValue.split(
            separator: "\n",
            maxSplits: 1,
            omittingEmptySubsequences: false
        )
        let source = SourceID(unchecked: fields.source)
        let given = long.first.flatMap { $0.isEmpty ? nil : String($0) }
        var watch = Watch(
            key: WatchKey(
                account: account,
                source: source,
                kind: kind
            ),
            policy: options.policy,
            createdAt: fields.began,
            deadline: fields.deadline,
            run: fields.run,
            seq: fields.seq,
            reopenedSeq: fields.reopenedSeq,
            endedAs: fields.endedAs.flatMap(ClosedReason.init(rawValue:)),
            pendingHint: pendingHint(fields),
            hintedAt: fields.hinted,
            clientSecret: given.map { fields.given($0, account) }
                ?? fields.secret.map { fields.learned($0, source, account) },
            charge: long.count == 2 ? ChargeInstruction(json: String(long[1])) : nil,
            order: fields.order.map(OrderID.init(unchecked:)),
            state: known,
            payment: fields.payment.map { PaymentMemory(packed: $0, charge: known.charge.charge) }
        )
        watch.options = options
        return watch
    }

    private static func pendingHint(_ fields: ItemFields) -> HintTopic? {
        switch fields.pendingHint?.first.flatMap({ HintCode(rawValue: String($0)) }) {
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

    static func hasCharged(_ change: WatchChange) -> Bool { change.hasCharged }

    static func entry(of change: WatchChange) -> ItemEntry {
        change.events.isEmpty ? .nothing : .events(change.events)
    }

    /// Reads a state; `nil` if a number in it is out of range.
    static func state(_ text: String) -> WatchState? {
        var parts = PackedParts(text)
        guard let status = parts.next(), let attemptsText = parts.next(),
            let stepText = parts.next(), let failuresText = parts.next(),
            let lastPolledText = parts.next(), let malformedText = parts.next()
        else { return WatchState() }
        let lastPolledAt = StoredValue(time: lastPolledText)
        guard let attempts = Int(countOrNothing: attemptsText),
            let step = Int(countOrNothing: stepText),
            let failures = Int(countOrNothing: failuresText),
            let malformed = Int(countOrNothing: malformedText), lastPolledAt.isReadable
        else { return nil }
        let (charge, detail, streak) = (parts.next(), parts.next(), parts.next())
        return WatchState(
            status: status.isEmpty ? nil : self.status(status),
            detail: detail ?? "",
            attempts: attempts,
            step: step,
            failures: failures,
            malformed: malformed,
            streak: streak.flatMap { AnswerStreak(packed: $0) },
            lastPolledAt: lastPolledAt.value,
            charge: charge.map(progress) ?? .none,
            chargeAttempt: charge.map { String($0.dropFirst()) } ?? ""
        )
    }

    /// The character that replaces the separator in a status, which has no control characters itself.
    private static let separatorReplacement: Character = "\u{1}"

    private static func text(of status: SourceStatus) -> String {
        status.description.utf8.contains(UInt8(ascii: "|"))
            ? String(status.description.map { $0 == "|" ? separatorReplacement : $0 })
            : status.description
    }

    private static func status(_ text: String) -> SourceStatus {
        SourceStatus(
            unchecked: text.utf8.contains(1)
                ? String(text.map { $0 == separatorReplacement ? "|" : $0 }) : text
        )
    }

    /// Returns the values that most watches do not have.
    private static func tail(_ state: WatchState) -> [String] {
        if let streak = state.streak {
            return [charge(state), state.detail, streak.packed]
        }
        if !state.detail.isEmpty { return [charge(state), state.detail] }
        return state.charge == .none ? [] : [charge(state)]
    }

    /// Returns a letter, and the charge's id or the doubtful attempt; empty before the first attempt to charge.
    private static func charge(_ state: WatchState) -> String {
        switch state.charge {
        case .none: ""
        case .doubtful: "?\(state.chargeAttempt)"
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

/// A payment's own secret in an item's hash, as a poll has read it or the caller has given it.
///
/// *Shape*: a letter for its prefix, which is constant or follows from the id, and the rest: `s` for
/// `src_client_secret_`, `i` for `<id>_secret_`, `w` for a whole one; encrypted as bytes if there is a master key. It
/// takes about 25 bytes per watched payment, 57 if encrypted. A value of more than 64 would prevent the item's compact
/// form (`hash-max-listpack-value`): a learned one is then not stored, and a given one is a long value.
enum PackedSecret {
    private static let ofSources = "src_client_secret_"

    /// Returns the value to store; `nil` if it is too long.
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

    /// Returns the full secret.
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
    /// Returns a long secret given by the caller, which is decrypted on use.
    fileprivate func given(_ stored: String, _ account: AccountID) -> ClientSecret {
        let location = SealedLocation.given(id, account)
        return ClientSecret { [masterKeys] in try? masterKeys.open(stored, at: location) }
    }

    /// Returns a short secret, or one that a poll has learned, which is decrypted on use.
    fileprivate func learned(
        _ stored: [UInt8],
        _ source: SourceID,
        _ account: AccountID
    ) -> ClientSecret {
        let location = SealedLocation.learned(id, account)
        return ClientSecret { [masterKeys] in
            // A process that cannot decrypt it has no secret; `pollerd rekey` reports these.
            guard let packed = try? masterKeys.open(bytes: stored, at: location) else { return nil }
            return PackedSecret.text(of: String(decoding: packed, as: UTF8.self), source)
        }
    }
}

extension SealedLocation {
    /// Returns the location of the secret that the caller gave with a watch.
    static func given(_ item: String, _ account: AccountID) -> SealedLocation {
        SealedLocation(.clientSecret, item, of: account)
    }

    /// Returns the location of the secret that a poll has learned.
    static func learned(_ item: String, _ account: AccountID) -> SealedLocation {
        SealedLocation(.learnedSecret, item, of: account)
    }
}
