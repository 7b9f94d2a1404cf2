import Crypto
import HTTPTypes
import NIOCore

/// The first answers to idempotency keys, and the keys being worked on; each account has its own.
struct IdempotencyTable: Codable {
    /// Stored answers; the oldest go first.
    static let recordsMax = 100_000

    /// How long Stripe keeps an answer at least.
    static let lifeMs: Int64 = 24 * 3600 * 1000

    private var records: [String: IdempotencyRecord] = [:]
    private var order = RingBuffer<String>(capacity: IdempotencyTable.recordsMax)
    private var running: Set<String> = []

    /// What is under way ends with the process.
    private enum CodingKeys: CodingKey {
        case records, order
    }

    /// What the table calls the key of a call; nil when it has none, or the method takes none.
    static func name(of call: APICall) -> String? {
        guard call.method == .post, let key = call.idempotencyKey else { return nil }
        return "\(call.account ?? "")\n\(key)"
    }

    /// Whether a request with the key is held by a fault: only those last longer than a step.
    func isRunning(_ name: String) -> Bool { running.contains(name) }

    mutating func begin(_ name: String) { running.insert(name) }

    mutating func end(_ name: String) { running.remove(name) }

    /// The stored answer; nil when there is none, or it is older than a day.
    func record(_ name: String, nowMs: Int64) -> IdempotencyRecord? {
        guard let record = records[name], nowMs - record.storedMs < Self.lifeMs else { return nil }
        return record
    }

    /// Keeps an answer; the oldest goes when there are too many.
    mutating func store(_ record: IdempotencyRecord, as name: String) {
        if let oldest = order[order.next - Self.recordsMax] { records.removeValue(forKey: oldest) }
        order.append(name)
        records[name] = record
    }
}

/// The first answer to an idempotency key.
///
/// Kept once execution has begun, a 500 included, and for a day; what was refused before (a bad key, a limit, a bad
/// parameter) is not, so the same key may try again. The same key with other parameters is an error.
/// *Source*: <https://docs.stripe.com/api/idempotent_requests>.
struct IdempotencyRecord: Codable {
    /// Digest of method, path and body: the parameters the key belongs to.
    let fingerprint: [UInt8]
    let status: Int
    let body: ByteBuffer
    let requestID: String
    /// Sandbox time.
    let storedMs: Int64

    /// Of the bytes rather than the parameters: clients repeat a request byte for byte.
    static func fingerprint(of call: APICall) -> [UInt8] {
        var hash = SHA256()
        hash.update(data: Array("\(call.method.rawValue) \(call.path)\n".utf8))
        hash.update(data: Array(call.body.readableBytesView))
        return Array(hash.finalize())
    }
}

/// Objects that another request is working on: writes to them are answered 429 with `lock_timeout`.
struct ObjectLocks {
    /// Locks held at a time.
    static let locksMax = 1000

    /// A lock on one object.
    private struct Lock {
        /// The machine's time when it ends by itself; nil when somebody unlocks it.
        let untilMs: Int64?
        let blocksReads: Bool
    }

    private var held: [String: Lock] = [:]

    var isEmpty: Bool { held.isEmpty }
    var isFull: Bool { held.count >= Self.locksMax }

    mutating func lock(_ id: String, untilMs: Int64?, blocksReads: Bool = false) {
        held[id] = Lock(untilMs: untilMs, blocksReads: blocksReads)
    }

    /// Whether there was a lock.
    mutating func unlock(_ id: String) -> Bool {
        held.removeValue(forKey: id) != nil
    }

    /// Reads pass unless the lock says otherwise.
    func blocks(_ id: String, isRead: Bool, machineMs: Int64) -> Bool {
        guard let lock = held[id], lock.untilMs.map({ machineMs < $0 }) ?? true else {
            return false
        }
        return !isRead || lock.blocksReads
    }
}
