/// Objects that another request is working on: writes to them are answered 429 with `lock_timeout`.
struct ObjectLocks {
    /// Locks held at a time.
    static let locksMax = 1000

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

    func blocks(_ id: String, isRead: Bool, machineMs: Int64) -> Bool {
        guard let lock = held[id], lock.untilMs.map({ machineMs < $0 }) ?? true else {
            return false
        }
        return !isRead || lock.blocksReads
    }
}
