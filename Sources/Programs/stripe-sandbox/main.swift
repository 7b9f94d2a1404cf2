import stripe_sandbox

await StripeSandboxCommand.main()
