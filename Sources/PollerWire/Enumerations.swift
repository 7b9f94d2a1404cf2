// Enumerations are named components of the OpenAPI description, so generators create one type for each, such as
// `WatchState`. An inline list of values would create another type for each field.

extension Components {
    /// Every enumeration that a shape refers to.
    ///
    /// A test resolves every reference of the description.
    package static var enumerations: [(name: String, schema: Schema)] {
        [
            Kind.ofEvents,
            named(AccessKey.Role.self), named(StreamTokenRequest.View.self),
            named(Bounce.Kind.self), named(Suppression.Reason.self),
            named(WebhookResult.Result.self), named(ReturnUpdate.State.self),
            named(HealthReport.Check.Status.self), named(WatchExplanation.Position.self),
            named(Delivery.State.self), named(DeliveryAttempt.Outcome.self),
            named(DeliveryAttempt.Class.self), named(Replay.State.self),
            named(Replay.Choice.self), named(Deprecation.Urgency.self),
            named(Endpoint.State.self), named(Endpoint.Origin.self),
            named(Endpoint.Payload.self), named(Endpoint.Signing.self),
            named(Incident.Kind.self), named(Incident.Status.self), named(Circuit.self),
            named(DepartedWorker.How.self),
            named(FailureKind.self), named(Lane.State.self), named(Payment.State.self),
            named(Payment.Refund.Status.self), named(NextStep.Sort.self),
            named(SetAsideEntry.Reader.self), named(TimelineEntry.Kind.self),
            named(TimelineEntry.Tone.self), named(RefundAccount.HolderType.self),
            named(VerificationResult.Result.self), named(Kind.self), named(Watch.State.self),
            named(Watch.ClosedReason.self), named(Watch.Goal.self),
            named(Watch.AuthorisationAct.self), named(Watch.AbandonedAct.self),
            named(Watch.Outcome.self), named(ChargeProgress.State.self),
            named(WatchRequest.Policy.self),
        ]
    }

    /// Returns the component that lists exactly these words; `nil` if none or several do.
    package static func name(ofWords words: [String]) -> String? {
        let found = enumerations.filter { _, schema in
            guard case .texts(let known) = schema["enum"] else { return false }
            return Set(known) == Set(words)
        }
        return found.count == 1 ? found.first?.name : nil
    }

    private static func named<Known: Word>(
        _ type: Known.Type
    ) -> (name: String, schema: Schema) {
        (Known.componentName, Known.schema)
    }
}
