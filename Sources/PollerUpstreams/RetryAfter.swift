import Foundation

/// The `Retry-After` header (RFC 9110 §10.2.3): seconds, or an HTTP date.
enum RetryAfter {
    /// The span from now; nil when there is no header or it makes no sense.
    ///
    /// Never negative; how long is too long is decided by the ``PollDecider``.
    static func span(_ header: String?) -> Duration? {
        guard let header = header?.trimmingCharacters(in: .whitespaces), !header.isEmpty else {
            return nil
        }
        if let seconds = Int64(header) {
            // A century is as good as any larger number, and cannot overflow.
            return .seconds(min(max(seconds, 0), 3_155_760_000))
        }
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(identifier: "GMT")
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        guard let date = formatter.date(from: header) else { return nil }
        return .seconds(max(0, Int64(date.timeIntervalSinceNow)))
    }
}
