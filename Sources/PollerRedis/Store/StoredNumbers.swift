import PollerIdentity
import RedisClient
import SafeNumbers

// Reading of all stored numbers, in one place.
//
// Problem: a trap ends the process, and a restarted process reads the same record again. Records are written by this
// program, by other releases, by operators with redis-cli, and by memory errors.
//
// Approach: a number is read with a range that arithmetic cannot leave: ``SafeInteger``, and no negative counts. A
// value outside its range makes the record unreadable, like a record of an unknown release: a lease on it ends without
// a commit, a list skips it with a log line, and others are not affected.

extension RedisValue {
    /// A count or a sequence number; `nil` for any other value.
    var count: Int? { int.flatMap { $0 >= 0 ? $0 : nil } }

    /// A time in milliseconds, as an integer or as the score of a sorted set; `nil` for any other value.
    var time: Timestamp? {
        if let int { return Timestamp(ms: Int64(clamping: int)) }
        return string.flatMap(Timestamp.init(score:))
    }
}

extension Int {
    /// A count or a sequence number as decimal digits; `nil` for any other text.
    init?(count digits: some StringProtocol) {
        guard let count = Int(safe: digits), count >= 0 else { return nil }
        self = count
    }

    /// A count that is not written while it is zero; `nil` for any other text.
    init?(countOrNothing digits: some StringProtocol) {
        if digits.isEmpty { self = 0 } else { self.init(count: digits) }
    }
}

extension Timestamp {
    /// A time as the decimal digits of its milliseconds; `nil` for any other text.
    init?(stored digits: some StringProtocol) {
        guard let ms = Int(safe: digits) else { return nil }
        self.init(ms: Int64(clamping: ms))
    }

    /// The reply of Redis to `TIME`: seconds and microseconds.
    init(time: [Int]) {
        let (seconds, us) = (time.first ?? 0, time.dropFirst().first ?? 0)
        self.init(
            ms: Int64(clamping: seconds.multipliedSaturating(by: 1000).addingSaturating(us / 1000))
        )
    }

    /// A time as the score of a sorted set; `nil` for infinities, NaN and numbers outside ``SafeInteger``.
    init?(score text: some StringProtocol) {
        guard let score = Double(text), let ms = Int64(exactly: score.rounded(.towardZero)),
            let ms = Int(safe: ms)
        else { return nil }
        self.init(ms: Int64(clamping: ms))
    }
}

/// An optional value of a packed record, which distinguishes a missing value from an unreadable one.
enum StoredValue<Value> {
    case missing
    case value(Value)
    case unreadable

    /// The value; `nil` if it is missing or unreadable.
    var value: Value? {
        guard case .value(let value) = self else { return nil }
        return value
    }

    /// Whether a record with this value can be used.
    var isReadable: Bool {
        if case .unreadable = self { return false }
        return true
    }
}

extension StoredValue<Timestamp> {
    /// A time as the decimal digits of its milliseconds, or nothing.
    init(time digits: some StringProtocol) {
        if digits.isEmpty {
            self = .missing
        } else {
            self = Timestamp(stored: digits).map { .value($0) } ?? .unreadable
        }
    }
}
