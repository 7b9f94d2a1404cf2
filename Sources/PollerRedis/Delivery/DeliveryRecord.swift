import PollerDeliveries
import PollerIdentity
import PollerOperations
import PollerWatches
import SafeNumbers

/// A delivery in Redis.
///
/// *Shape*: source = the watch's source, facts `kind|account`, lane = the endpoint, state
/// `cursor|failures|attempts|retry at ms|failed since ms|newest sent to the fallback|dead seqs|seqs to send
/// again|digest of the event at the cursor|seqs pending for the fallback`. Seqs are separated by commas. The state is
/// missing before the first attempt, and ends without its trailing empty values. An inline URL of up to 64 bytes is a
/// field of the item, a longer one its private value. A registered endpoint has none.
enum DeliveryRecord: ItemRecord {
    /// Returns where mark.lua stores an inline URL: in the item itself, or among its long values.
    static func field(of url: NotifyURL?) -> String {
        let isShort = (url?.description.utf8.count ?? 0) <= ShortText.bytesMax
        return isShort ? String(ItemField.url.rawValue) : ""
    }

    static func facts(of watch: WatchKey) -> String {
        Packed.join([watch.kind.rawValue, watch.account.description])
    }

    /// Returns the watch of a delivery; `nil` if its facts are not valid.
    static func watch(source: String, facts: String) -> WatchKey? {
        let facts = Packed.split(facts)
        // Safe: both values are used only if there are two.
        guard facts.count == 2, !facts[0].isEmpty else { return nil }
        return WatchKey(
            account: AccountID(unchecked: facts[1]),
            source: SourceID(unchecked: source),
            kind: SourceKind(recorded: facts[0])
        )
    }

    static func item(_ fields: ItemFields) -> Delivery? {
        let text = fields.url ?? fields.privateValue
        let url = try? NotifyURL(text)
        guard fields.isReadable, let watch = watch(source: fields.source, facts: fields.facts),
            url != nil || text.isEmpty, let state = state(fields.state)
        else { return nil }
        return Delivery(
            endpoint: EndpointID(unchecked: fields.lane),
            url: url,
            watch: watch,
            state: state
        )
    }

    static func state(after change: DeliveryChange) -> String { text(of: change.state) }

    /// Returns the last error; a dead letter keeps its reason, regardless of later results.
    static func error(of change: DeliveryChange) -> String? {
        change.lastError ?? (change.keepsError ? ItemError.kept : nil)
    }

    /// Deliveries have no payment.
    static func payment(after change: DeliveryChange) -> String? { nil }

    static func secret(
        after change: DeliveryChange,
        sealedBy keys: MasterKeys
    ) -> [UInt8]? { nil }

    static func searchEntries(after change: DeliveryChange) -> String { "" }

    static func seesMoney(_ change: DeliveryChange) -> Bool { false }

    static func hasCharged(_ change: DeliveryChange) -> Bool { false }

    static func entry(of change: DeliveryChange) -> ItemEntry {
        change.attempt.map { .attempt(PackedAttempt.bytes(of: $0)) } ?? .nothing
    }

    /// The stored form of a state, without its trailing empty values.
    static func text(of state: DeliveryState) -> String {
        func ms(_ time: Timestamp?) -> String { time.map { String($0.ms) } ?? "" }
        func part(_ part: DeliveryPart) -> String {
            switch part {
            case .cursor: String(state.cursor)
            case .failures: String(state.failures)
            case .attempts: String(state.attempts)
            case .retryAt: ms(state.retryAt)
            case .failedSince: ms(state.failedSince)
            case .escalated: state.escalated > 0 ? String(state.escalated) : ""
            case .dead: list(state.dead)
            case .again: list(state.again)
            case .cursorDigest: state.cursorDigest ?? ""
            case .pendingFallback: list(state.pendingFallback)
            }
        }
        var parts = DeliveryPart.allCases.map(part)
        while parts.count > partsMin, parts.last?.isEmpty == true { parts.removeLast() }
        return Packed.join(parts)
    }

    /// The number of leading values that are written even if they are empty.
    private static let partsMin = 4

    /// Reads a state; `nil` when a number in it is out of range.
    private static func state(_ text: String) -> DeliveryState? {
        let parts = Packed.split(text)
        guard parts.count >= partsMin else { return DeliveryState() }
        func part(_ part: DeliveryPart) -> String {
            part.rawValue < parts.count ? parts[part.rawValue] : ""
        }
        let retryAt = StoredValue(time: part(.retryAt))
        let failedSince = StoredValue(time: part(.failedSince))
        guard let cursor = Int(countOrNothing: part(.cursor)),
            let failures = Int(countOrNothing: part(.failures)),
            let attempts = Int(countOrNothing: part(.attempts)),
            let escalated = Int(countOrNothing: part(.escalated)), let dead = seqs(part(.dead)),
            let again = seqs(part(.again)), let pendingFallback = seqs(part(.pendingFallback)),
            retryAt.isReadable,
            failedSince.isReadable
        else { return nil }
        return DeliveryState(
            cursor: cursor,
            failures: failures,
            attempts: attempts,
            retryAt: retryAt.value,
            failedSince: failedSince.value,
            escalated: escalated,
            dead: dead,
            again: again,
            cursorDigest: part(.cursorDigest).isEmpty ? nil : part(.cursorDigest),
            pendingFallback: pendingFallback
        )
    }

    private static func list(_ seqs: [Int]) -> String {
        seqs.map(String.init).joined(separator: ",")
    }

    /// Reads sequence numbers; `nil` when one is out of range.
    private static func seqs(_ text: String) -> [Int]? {
        let parts = text.split(separator: ",")
        let seqs = parts.compactMap { Int(count: $0) }
        return seqs.count == parts.count ? seqs : nil
    }
}
