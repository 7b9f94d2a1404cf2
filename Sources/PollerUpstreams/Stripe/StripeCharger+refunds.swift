package import JSONText
package import Poller
package import PollerIdentity
package import PollerPayments
package import PollerWatches
import StripeAPI

// Refunds the duplicate payment of an order.
//
// | response to the refund | result |
// |---|---|
// | 2xx, and it has succeeded | `made` |
// | 2xx, and it is pending or needs the customer | `underway` |
// | 400 `charge_already_refunded` | `covered`, by an earlier attempt or by an operator; the refund may be pending |
// | 400, because the key was used with other parameters | `postponed`: the outcome of that request is unknown |
// | 401, 403, 409, 429, 5xx, no response | `postponed`; the retry uses the same key |
// | 2xx, and the bank has already returned it | `failed` |
// | any other | `refused` |
//
// A payment that the order counts twice, for example as an intent and as its charge, is `refused`.
//
// *Source*: <https://docs.stripe.com/api/refunds/create>,
// <https://docs.stripe.com/error-codes#charge-already-refunded>.

extension StripeCharger {
    package func refundsDuplicates(of account: AccountID) -> Bool { refunding.contains(account) }

    package func refundDuplicate(
        _ watch: Watch,
        of first: WatchKey,
        charge: ChargeID?,
        object: RawJSON,
        timeout: Duration
    ) async -> RefundResult {
        let end = elapsed() + timeout
        let same = "it may be the same charge as that of \(first.source); watch only one of them"
        if Self.areSame(first, object) || charge?.description == first.source.description {
            return .refused(same)
        }
        guard let order = watch.order, let client = accounts.client(for: watch.key.account) else {
            return .postponed("no API key for this account", retryAfter: Self.refusedPause)
        }
        var form: [(String, String)] = []
        let sharing: RefundSharing
        var refundedCharge: ChargeID?
        let isPlatform = client.configuration.account != nil
        switch (watch.key.kind, charge) {
        case (.paymentIntent, _):
            form.append(("payment_intent", "\(watch.key.source)"))
            sharing = RefundSharing(of: object, isPlatform: isPlatform)
        case (.charge, _):
            form.append(("charge", "\(watch.key.source)"))
            sharing = RefundSharing(of: object, isPlatform: isPlatform)
        case (_, let charge?):
            form.append(("charge", "\(charge)"))
            refundedCharge = charge
            if object.member("object")?.string == "charge" {
                // The poll has read the charge instead of its source.
                sharing = RefundSharing(of: object, isPlatform: isPlatform)
                break
            }
            guard let read = await self.read(charge, watch, client, timeout / 2) else {
                return .postponed("its charge cannot be read", retryAfter: nil)
            }
            if Self.areSame(first, read.object) { return .refused(same) }
            sharing = read.sharing
        case (_, nil):
            switch await find(watch, object: object, timeout: timeout / 2) {
            case .made(let found):
                if Self.areSame(first, found.object)
                    || found.id.description == first.source.description
                {
                    return .refused(same)
                }
                form.append(("charge", "\(found.id)"))
                refundedCharge = found.id
                let read = found.object.map { RefundSharing(of: $0, isPlatform: isPlatform) }
                sharing = read ?? RefundSharing(watch.charge?.sharing)
            case .declined(let code, _): return .refused("its charge is not found: \(code)")
            case .incomplete, .unauthenticated, .indeterminate, .postponed:
                return .postponed("the search for its charge continues", retryAfter: nil)
            }
        }
        form.append(("reason", "duplicate"))
        form.append(("metadata[\(Self.purpose)]", "\(order)"))
        form += sharing.form
        let key = order.refundKey(of: watch.key, charge: refundedCharge) + sharing.keySuffix
        do throws(StripeError) {
            let response = try await client.post(
                "/v1/refunds",
                form: form,
                idempotencyKey: key,
                timeout: end - elapsed()
            )
            // A response may contain an error, so only a decoded refund proves that it exists.
            let refund = try response.decode(StripeAPI.Refund.self)
            let status = refund.status ?? .succeeded
            switch status {
            case .failed, .canceled:
                return .failed("\(refund.id) is \(status.rawValue)")
            case .pending: return .underway(.pending)
            case .requiresAction: return .underway(.requiresAction)
            default: return .made
            }
        } catch {
            return Self.refunded(error)
        }
    }

    /// Whether an object names the first attempt as its intent, charge or source.
    ///
    /// A reusable source may have two charges, and only the one that its watch shows is the same. That one is not known
    /// here, and an only payment must not be refunded, so both count as the same.
    private static func areSame(_ first: WatchKey, _ object: RawJSON?) -> Bool {
        let fields = StripeFields(object)
        return ["payment_intent", "latest_charge", "source", "payment_method"].contains {
            fields.id($0) == first.source.description
        }
    }

    /// Reads a source's charge, and the parts that its refund takes back; `nil` if it cannot be read now.
    ///
    /// If the key may not read charges, there is no object, and the parts are those that the watch requests.
    private func read(
        _ charge: ChargeID,
        _ watch: Watch,
        _ client: StripeClient,
        _ timeout: Duration
    ) async -> (object: RawJSON?, sharing: RefundSharing)? {
        let requested = RefundSharing(watch.charge?.sharing)
        do throws(StripeError) {
            let reply = try await client.get("/v1/charges/\(charge)", timeout: timeout)
            let found = Self.made(try reply.decode(StripeAPI.Charge.self))
            guard case .made(let observed) = found, let object = observed.object else {
                return (nil, requested)
            }
            let isPlatform = client.configuration.account != nil
            return (object, RefundSharing(of: object, isPlatform: isPlatform))
        } catch .api(let failure) where failure.status == 403 || failure.status == 404 {
            return (nil, requested)
        } catch {
            return nil
        }
    }

    private static func refunded(_ error: StripeError) -> RefundResult {
        guard !error.isIndeterminate, case .api(let failure) = error, let errorBody = failure.error
        else { return .postponed("\(error)", retryAfter: nil) }
        switch failure.status {
        case 401, 403: return .postponed("\(failure)", retryAfter: refusedPause)
        case 409, 429: return .postponed("\(failure)", retryAfter: nil)
        case 400 where errorBody.type == .idempotencyError:
            return .postponed("\(failure)", retryAfter: refusedPause)
        case _ where errorBody.code == "charge_already_refunded": return .covered
        default: return .refused("\(failure)")
        }
    }
}
