/// The account's events of the last 30 days; see <https://docs.stripe.com/api/events>.
extension StripeClient {
    /// Reads one page of events, newest first.
    ///
    /// - Parameters:
    ///   - query: Which events.
    ///   - cursor: Where the page begins; the newest when nil.
    ///   - limit: 1 to 100.
    /// - Returns: The page.
    /// - Throws: Any ``StripeError``; ``StripeError/invalidRequest(_:)`` for more than 20 types.
    public func listEvents(
        _ query: EventQuery = EventQuery(),
        cursor: PageCursor? = nil,
        limit: Int = 100
    ) async throws(StripeError) -> StripeList<StripeEvent> {
        guard query.types.count <= EventTypes.listMax else {
            throw .invalidRequest(
                "events are listed by at most \(EventTypes.listMax) types, "
                    + "not \(query.types.count): leave types empty and filter, or ask in turn"
            )
        }
        return try await list("/v1/events", query.parameters, cursor, limit)
    }

    /// All events of a query, page after page.
    ///
    /// To recover after a downtime begin with `.endingBefore` the last event seen and
    /// ``EventQuery/deliverySuccess`` false: events then come from old to new.
    /// *Source*: <https://docs.stripe.com/webhooks/process-undelivered-events>.
    public func events(
        _ query: EventQuery = EventQuery(),
        cursor: PageCursor? = nil
    ) -> StripePages<StripeEvent> {
        StripePages(from: cursor) { cursor throws(StripeError) in
            try await listEvents(query, cursor: cursor)
        }
    }

    /// Reads an event.
    public func retrieveEvent(
        _ id: String,
        timeout: Duration? = nil
    ) async throws(StripeError) -> StripeEvent {
        try await retrieve("/v1/events", id, nil, timeout)
    }
}
