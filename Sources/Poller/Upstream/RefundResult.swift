package import PollerIdentity
package import PollerPayments

/// The result of requesting a refund.
package enum RefundResult: Hashable, Sendable {
    /// Refunded by this request or an earlier one.
    case made
    /// The refund exists and has not succeeded yet.
    case underway(RefundProgress.Status)
    /// Refunds of the whole charge exist already, by an earlier request or by an operator; they may not have succeeded
    /// yet, so only the charge shows the returned sum.
    case covered
    /// The refund was made, but the bank let it fail; an operator must act, and it is not requested again.
    case failed(String)
    /// Refused permanently; an operator must act.
    case refused(String)
    /// Not known to be made; the request is repeated later, with the same key.
    case postponed(String, retryAfter: Duration?)
}

extension RefundResult {
    /// Whether a refund exists, so that no other is requested.
    var isTried: Bool {
        switch self {
        case .made, .underway, .covered, .failed: true
        case .refused, .postponed: false
        }
    }
}

extension OrderID {
    /// Returns the idempotency key for the refund of one attempt to pay the order, which is always the same.
    ///
    /// `charge` is the charge of a source: a source that can be charged again may pay the order several times. For any
    /// other kind it is `nil`, because such an object is paid once.
    package func refundKey(of key: WatchKey, charge: ChargeID?) -> String {
        let attempt = ["\(key.account)", "refund", description, key.kind.rawValue, "\(key.source)"]
        let named = attempt + (charge.map { ["\($0)"] } ?? [])
        return "poller-refund:\(Digest.base64url(of: named, bytes: 18))"
    }
}
