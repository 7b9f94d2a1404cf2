/// The schemas with a name in the OpenAPI description, in its order.
package enum Components {
    package static var all: [(name: String, schema: Schema)] {
        [
            ("Span", Span.component), ("Time", Time.component),
            named(WatchRequest.self), named(Watch.self), named(Page<Watch>.self),
            named(WatchSummary.self),
            named(Order.self), named(Page<Order>.self),
            named(BatchResult.self), named(WatchSelection.self), named(SelectionResult.self),
            named(ArchiveLine.self), named(RestoreResult.self),
            named(Event.self), named(Page<Event>.self),
            named(Stats.Counts.self), named(Stats.self), named(StatsHistory.self),
            named(Lane.self), named(LaneLimit.self), named(LaneLimitChange.self),
            named(Page<Lane>.self), named(Account.self), named(Page<Account>.self),
            named(HealthReport.self), named(Worker.self), named(Page<Worker>.self),
            named(DepartedWorker.self), named(Page<DepartedWorker>.self),
            named(WatchExplanation.self), named(ProblemReport.self), named(WebhookResult.self),
            named(Verification.self), named(VerificationResult.self), named(RefundAccount.self),
            named(ReturnUpdate.self), named(StreamTokenRequest.self), named(StreamToken.self),
            named(NewAccessKey.self), named(AccessKey.self), named(Page<AccessKey>.self),
            named(AuditEntry.self), named(Page<AuditEntry>.self),
            named(TimelineEntry.self), named(Page<TimelineEntry>.self),
            named(KeyHolder.self), named(Incident.self), named(Page<Incident>.self),
            named(NewEndpoint.self), named(EndpointChange.self), named(Endpoint.self),
            named(Page<Endpoint>.self), named(EndpointTest.self), named(EndpointRotation.self),
            named(EndpointDisabling.self), named(InlineSecret.self), named(Bounce.self),
            named(Suppression.self), named(EndpointHealth.self), named(Delivery.self),
            named(Page<Delivery>.self), named(DeliveryAttempt.self),
            named(Page<DeliveryAttempt>.self), named(DeliveryMessage.self),
            named(ReplayRequest.self), named(Replay.self), named(LateWatch.self),
            named(LateWatches.self), named(Dispute.self), named(DisputeList.self),
            named(SuppressionListEntry.self), named(Page<SuppressionListEntry>.self),
            named(SetAsideEntry.self), named(Page<SetAsideEntry>.self),
        ] + enumerations
    }

    private static func named<Object: WireObject>(
        _ type: Object.Type
    ) -> (name: String, schema: Schema) {
        (type.shape.name ?? "", type.shape.schema)
    }
}
