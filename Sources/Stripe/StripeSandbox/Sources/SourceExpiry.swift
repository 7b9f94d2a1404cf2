/// When a source dies by itself, from Stripe's guide of each method.
struct SourceExpiry {
    /// How long it may stay pending; nil is for ever.
    var pendingMs: Int64?
    /// How long it may stay chargeable; nil is for ever.
    var chargeableMs: Int64?
    /// Whether it dies at 23:45 China time at the latest (Alipay, WeChat Pay).
    var endsWithChineseDay = false

    private static let hourMs: Int64 = 3_600_000

    /// An hour to authorise, six to charge: the redirect methods.
    static let redirect = SourceExpiry(pendingMs: hourMs, chargeableMs: 6 * hourMs)
    static let chinese = SourceExpiry(
        pendingMs: hourMs,
        chargeableMs: 6 * hourMs,
        endsWithChineseDay: true
    )
    /// Seven days to pay at a cash machine or bank.
    static let multibanco = SourceExpiry(pendingMs: 7 * 24 * hourMs, chargeableMs: 6 * hourMs)
    /// Micro-deposits have to be confirmed within ten days.
    static let verification = SourceExpiry(pendingMs: 10 * 24 * hourMs)
    static let never = SourceExpiry()

    /// The instant a source in that status dies, if it does.
    func endMs(status: String, nowMs: Int64) -> Int64? {
        switch status {
        case "pending": return pendingMs.map { nowMs + $0 }
        case "chargeable":
            guard let chargeableMs else { return nil }
            let end = nowMs + chargeableMs
            return endsWithChineseDay ? min(end, Self.closingMs(after: nowMs)) : end
        default: return nil
        }
    }

    /// The next 23:45 in China, which is 15:45 UTC all year.
    private static func closingMs(after nowMs: Int64) -> Int64 {
        let dayMs = 24 * hourMs
        let closing = nowMs / dayMs * dayMs + 15 * hourMs + 45 * 60_000
        return closing > nowMs ? closing : closing + dayMs
    }
}
