package import PollerHints
package import PollerIdentity
package import PollerPayments
import StripeAPI

/// Stripe's list of an account's events, for the sweep.
///
/// *Order*: Stripe lists the newest event first, and the sweep gets the oldest first. An event only causes a poll,
/// whose result is the truth, so neither order nor repetition does harm.
///
/// | range | request |
/// |---|---|
/// | `after` an event | one page that follows it (`ending_before`) |
/// | `since` a time | up to 50 pages from that time, newest first |
///
/// *Errors*: Stripe keeps events for thirty days. A list after an older event fails with `cursorTooOld`, everything
/// else with `unavailable`.
package struct StripeEvents: AccountEvents {
    /// The event types of the usual sweep: every change that ends or moves a payment.
    ///
    /// One request can have up to twenty types (<doc:StripeFacts>). `source.consumed` does not exist, but `charge.*`
    /// shows it.
    static let types = [
        "source.chargeable", "source.failed", "source.canceled",
        "source.refund_attributes_required", "payment_intent.requires_action",
        "payment_intent.processing", "payment_intent.amount_capturable_updated",
        "payment_intent.succeeded", "payment_intent.payment_failed", "payment_intent.canceled",
        "setup_intent.requires_action", "setup_intent.succeeded", "setup_intent.setup_failed",
        "setup_intent.canceled", "charge.pending", "charge.succeeded", "charge.failed",
        "charge.captured", "charge.expired", "charge.refunded",
    ]
    /// The event types of the sweep that runs a fifth as often: changes of received money, and rare events.
    static let moneyTypes = [
        "charge.refund.updated", "refund.created", "refund.updated", "refund.failed",
        "charge.dispute.created", "charge.dispute.updated", "charge.dispute.closed",
        "charge.dispute.funds_withdrawn", "charge.dispute.funds_reinstated",
        "payment_intent.partially_funded", "source.transaction.created",
        "source.transaction.updated", "source.mandate_notification",
    ]
    /// The limit for a page, which takes longer than an object because lists are expensive for Stripe
    /// (<doc:StripeFacts>).
    private static let timeout = Duration.seconds(20)
    /// The limit for a single object, because the sender of a webhook waits for the response.
    private static let chargeTimeout = Duration.seconds(5)
    /// The maximum number of pages of one overlap: 5,000 events.
    ///
    /// If an account has more events within some minutes, the rest is only partly read again.
    private static let pagesMax = 50
    /// The largest response for one event: the maximum size of a webhook, and the surrounding members.
    private static let eventBytesMax = 1 << 23

    private let accounts: StripeAccounts

    /// Creates a reader that uses the credentials of each account.
    package init(accounts: StripeAccounts) {
        self.accounts = accounts
    }

    package func events(
        of account: AccountID,
        _ list: EventList,
        _ range: EventRange
    ) async throws(AccountEventsFailure) -> AccountEventsPage {
        let types = list == .usual ? Self.types : Self.moneyTypes
        guard var client = accounts.client(for: account)?.readingPages else {
            throw .unavailable("no API key is configured for account \(account)")
        }
        client.configuration.timeout = Self.timeout
        do throws(StripeError) {
            switch range {
            case .since(let time):
                return try await allEvents(client, types, since: time)
            case .after(let id):
                let page = try await client.listEvents(
                    EventQuery(types: types),
                    cursor: .endingBefore(id)
                )
                return AccountEventsPage(
                    events: page.data.reversed().map(\.asHint),
                    hasMore: page.hasMore
                )
            }
        } catch .api(let failure) where failure.error?.code == "resource_missing" {
            throw .cursorTooOld
        } catch {
            throw .unavailable("\(error)")
        }
    }

    package func subject(
        ofCharge charge: ChargeID,
        in account: AccountID
    ) async throws(AccountEventsFailure) -> SourceID? {
        // A publishable key can read no charge.
        guard let client = accounts.client(for: account), !client.isPublishable else { return nil }
        do throws(StripeError) {
            let found = try await client.retrieveCharge(
                charge.description,
                timeout: Self.chargeTimeout
            )
            // An object whose ID cannot be a watch's source is ignored.
            return (found.paymentIntent ?? found.source?.id).flatMap { try? SourceID($0) }
        } catch .api(let failure) where failure.isOfNoSuchObject || failure.status == 403 {
            // Asking again would not help. The 401 of a revoked key is thrown: an operator replaces the key.
            return nil
        } catch .invalidRequest {
            return nil
        } catch .bodyTooLarge {
            return nil
        } catch {
            throw .unavailable("\(error)")
        }
    }

    package func notice(
        _ id: String,
        of source: SourceID,
        in account: AccountID
    ) async throws(AccountEventsFailure) -> NoticeLookup {
        guard let client = clientWithoutRetries(account) else { return .unreadable }
        do throws(StripeError) {
            let found = try await client.retrieveMandateNotification(
                id,
                ofSource: source.description,
                timeout: Self.chargeTimeout
            )
            // A response about another object confirms nothing.
            guard found.id == id, found.source?.id == source.description,
                let notice = StripeEvent.notice(found.allResponseFields)
            else { return .unknown }
            return .found(notice)
        } catch .api(let failure) where failure.isOfNoSuchObject {
            return .unknown
        } catch .api(let failure) where failure.status == 403 {
            return .unreadable
        } catch .invalidRequest {
            return .unknown
        } catch {
            throw .unavailable("\(error)")
        }
    }

    package func hasEvent(
        _ event: AccountEvent,
        about object: SourceID,
        in account: AccountID
    ) async throws(AccountEventsFailure) -> Bool {
        guard var client = clientWithoutRetries(account) else { return false }
        client.configuration.maxBodyBytes = Self.eventBytesMax
        do throws(StripeError) {
            let found: AccountEvent
            if event.isThin {
                found = try await client.retrieveEventNotification(
                    event.id,
                    timeout: Self.chargeTimeout
                ).asClaim
                // For a charge the hint contains its intent. Stripe's response about the intent confirms the event as
                // well.
                if found.id == event.id, found.subjects.first == event.subjects.first {
                    return true
                }
            } else {
                found = try await client.retrieveEvent(event.id, timeout: Self.chargeTimeout)
                    .asClaim
            }
            return found.id == event.id && found.subjects.contains(object)
        } catch .api(let failure) where failure.isOfNoSuchObject || failure.status == 403 {
            return false
        } catch .invalidRequest {
            return false
        } catch {
            throw .unavailable("\(error)")
        }
    }

    package func intent(
        ofInvoice invoice: String,
        in account: AccountID
    ) async throws(AccountEventsFailure) -> SourceID? {
        guard let client = clientWithoutRetries(account) else { return nil }
        let response: StripeResponse
        do throws(StripeError) {
            response = try await client.get(
                "/v1/invoice_payments",
                query: [("invoice", invoice), ("limit", "10")],
                timeout: Self.chargeTimeout
            )
        } catch {
            throw .unavailable("\(error)")
        }
        switch response.status {
        case 200..<300:
            // A response that is not a list names no intent.
            let list = try? StripeJSON.value(response.body)
            return list?["data"]?.array?.lazy.compactMap(\.intentOfPayment).first
        case 429, 500...: throw .unavailable("\(response.failure)")
        // The account's API version has no invoice payments, or the key cannot read them.
        default: return nil
        }
    }

    /// Returns a client that never retries, because the sender delivers a failed webhook again.
    private func clientWithoutRetries(_ account: AccountID) -> StripeClient? {
        guard var client = accounts.client(for: account) else { return nil }
        client.configuration.retry = .never
        return client
    }

    /// Returns all events since a time, read from the newest.
    private func allEvents(
        _ client: StripeClient,
        _ types: [String],
        since time: Timestamp
    ) async throws(StripeError) -> AccountEventsPage {
        let query = EventQuery(
            types: types,
            created: TimeBounds(from: Int(clamping: time.ms / 1000))
        )
        var newestFirst: [AccountEvent] = []
        var cursor: PageCursor?
        for request in 1...Self.pagesMax {
            let page = try await client.listEvents(query, cursor: cursor)
            newestFirst += page.data.map(\.asHint)
            guard page.hasMore, let oldest = page.data.last else {
                return AccountEventsPage(
                    events: newestFirst.reversed(),
                    hasMore: false,
                    requests: request
                )
            }
            cursor = .startingAfter(oldest.id)
        }
        return AccountEventsPage(
            events: newestFirst.reversed(),
            hasMore: true,
            requests: Self.pagesMax
        )
    }
}

extension APIFailure {
    /// Whether Stripe reports that the object does not exist, or no such account for this key.
    fileprivate var isOfNoSuchObject: Bool {
        status == 404 || error?.code == "resource_missing" || error?.code == "account_invalid"
    }
}
