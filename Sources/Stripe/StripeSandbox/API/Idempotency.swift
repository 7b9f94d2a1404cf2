import Crypto
import HTTPTypes
import NIOCore

/// The first responses to idempotency keys, and the keys in use, by account.
struct IdempotencyTable: Codable {
    /// The maximum number of stored responses; the oldest are removed first.
    static let recordsMax = 100_000

    /// The minimum time that Stripe keeps a response.
    static let lifeMs: Int64 = 24 * 3600 * 1000

    private var records: [String: IdempotencyRecord] = [:]
    private var order = RingBuffer<String>(capacity: IdempotencyTable.recordsMax)
    private var running: Set<String> = []

    /// Requests in progress end with the process and are not stored.
    private enum CodingKeys: CodingKey {
        case records, order
    }

    /// Returns the table key of a call; `nil` without an idempotency key or for methods other than POST.
    static func name(of call: APICall) -> String? {
        guard call.method == .post, let key = call.idempotencyKey else { return nil }
        return "\(call.account ?? "")\n\(key)"
    }

    /// Returns whether a request with the key is held by a fault; other requests complete in one step.
    func isRunning(_ name: String) -> Bool { running.contains(name) }

    mutating func begin(_ name: String) { running.insert(name) }

    mutating func end(_ name: String) { running.remove(name) }

    /// Returns the stored response; `nil` when there is none or it is older than a day.
    func record(_ name: String, nowMs: Int64) -> IdempotencyRecord? {
        guard let record = records[name], nowMs - record.storedMs < Self.lifeMs else { return nil }
        return record
    }

    /// Stores a response and removes the oldest one when the table is full.
    mutating func store(_ record: IdempotencyRecord, as name: String) {
        if let oldest = order[order.next - Self.recordsMax] { records.removeValue(forKey: oldest) }
        order.append(name)
        records[name] = record
    }
}

/// The first response to an idempotency key.
///
/// It is stored for a day once execution has started, including a 500. An earlier rejection (bad key, limit or
/// invalid parameter) is not stored, so the same key can be used again. The same key with other parameters is an
/// error.
/// *Source*: <https://docs.stripe.com/api/idempotent_requests>.
struct IdempotencyRecord: Codable {
    /// A digest of method, path and body, which identifies the parameters of the key.
    let fingerprint: [UInt8]
    let status: Int
    let body: ByteBuffer
    let requestID: String
    /// The time of storage, in sandbox time.
    let storedMs: Int64

    /// Computes the digest of the raw bytes, because clients retry a request byte for byte.
    static func fingerprint(of call: APICall) -> [UInt8] {
        var hash = SHA256()
        hash.update(data: Array("\(call.method.rawValue) \(call.path)\n".utf8))
        hash.update(data: Array(call.body.readableBytesView))
        return Array(hash.finalize())
    }
}

/// Locked objects, which other requests are processing: writes to them get 429 with `lock_timeout`.
struct ObjectLocks {
    /// The maximum number of locks.
    static let locksMax = 1000

    /// A lock of one object.
    private struct Lock {
        /// The machine time when the lock expires; `nil` when it must be unlocked explicitly.
        let untilMs: Int64?
        let blocksReads: Bool
    }

    private var held: [String: Lock] = [:]

    var isEmpty: Bool { held.isEmpty }
    var isFull: Bool { held.count >= Self.locksMax }

    mutating func lock(_ id: String, untilMs: Int64?, blocksReads: Bool = false) {
        held[id] = Lock(untilMs: untilMs, blocksReads: blocksReads)
    }

    /// Removes a lock; returns whether it existed.
    mutating func unlock(_ id: String) -> Bool {
        held.removeValue(forKey: id) != nil
    }

    /// Returns whether a request is blocked; reads are only blocked by locks that say so.
    func blocks(_ id: String, isRead: Bool, machineMs: Int64) -> Bool {
        guard let lock = held[id], lock.untilMs.map({ machineMs < $0 }) ?? true else {
            return false
        }
        return !isRead || lock.blocksReads
    }
}
