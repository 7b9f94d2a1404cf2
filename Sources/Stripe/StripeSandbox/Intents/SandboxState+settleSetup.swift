import NIOCore

extension SandboxState {
    /// Moves a SetupIntent to a status, records and announces it.
    mutating func settleSetup(_ id: String, to status: String) {
        guard var setup = setups[id], setup.status != status else { return }
        let previous = setup.status
        setup.status = status
        if status == "succeeded" { setup.lastError = nil }
        if status != "requires_action" { setup.actionEndMs = nil }
        setup.changed()
        setups[id] = setup
        note(id, from: previous, to: status)
        if status == "succeeded", let method = setup.method {
            used(method, by: setup.customer, isSetUp: setup.usage == "off_session")
        }
        // There is no event for requires_confirmation or processing.
        switch status {
        case "requires_action", "succeeded", "canceled":
            emit("setup_intent.\(status)", setupJSON(id), account: setup.account)
        case "requires_payment_method":
            emit("setup_intent.setup_failed", setupJSON(id), account: setup.account)
        default: break
        }
    }

    /// The customer authorised, or nobody had to be asked.
    mutating func authoriseSetup(_ id: String) {
        guard let method = setups[id]?.method else { return }
        setups[id]?.lastRedirect?.status = "succeeded"
        if case .failsLater = method.outcome {
            settleSetup(id, to: "processing")
            soon(.settleSetup(id))
        } else if case .staysPending = method.outcome {
            settleSetup(id, to: "processing")
        } else {
            settleSetup(id, to: "succeeded")
        }
    }

    /// The bank answers.
    mutating func settleProcessingSetup(_ id: String) {
        guard let setup = setups[id], setup.status == "processing" else { return }
        if case .failsLater(let failure) = setup.method?.outcome {
            failSetup(id, failure)
        } else {
            settleSetup(id, to: "succeeded")
        }
    }

    /// The customer took too long.
    mutating func expireSetup(_ id: String) {
        guard let endMs = setups[id]?.actionEndMs, endMs <= nowMs else { return }
        failSetup(
            id,
            PaymentFailure(
                code: "setup_intent_setup_attempt_expired",
                message: "The latest setup attempt for this SetupIntent has expired."
            )
        )
    }

    /// A try failed: back to `requires_payment_method`, with the reason.
    mutating func failSetup(_ id: String, _ failure: PaymentFailure) {
        guard let setup = setups[id] else { return }
        let method = currentMethod(of: setup)?.json()
        setups[id]?.lastError = SandboxPaymentError(
            failure: failure,
            methodType: setup.method?.type ?? "card",
            method: method
        )
        setups[id]?.lastRedirect?.status = "failed"
        setups[id]?.method = nil
        setups[id]?.nextAction = nil
        if setup.status == "requires_payment_method" {
            setups[id]?.changed()
            emit("setup_intent.setup_failed", setupJSON(id), account: setup.account)
        } else {
            settleSetup(id, to: "requires_payment_method")
        }
    }
}
