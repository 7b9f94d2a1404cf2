import StripeAPI
import Testing

@Suite struct NextStepTests {
    private static let redirect = #""redirect":{"return_url":"a","url":"https://pay","status":"#

    @Test(
        "the next step follows from status, flow and type",
        arguments: [
            (
                "pending", "ideal", #""flow":"redirect",\#(redirect)"pending"}"#,
                SourceNextStep.redirect(url: "https://pay")
            ),
            ("pending", "three_d_secure", #""flow":"redirect",\#(redirect)"not_required"}"#, .wait),
            ("pending", "ideal", #""flow":"redirect",\#(redirect)"succeeded"}"#, .wait),
            (
                "pending", "multibanco", #""flow":"receiver","receiver":{"address":"12-34"}"#,
                .pay(address: "12-34")
            ),
            (
                "pending", "ach_debit",
                #""flow":"code_verification","code_verification":{"status":"pending","attempts_remaining":2}"#,
                .verify(attemptsRemaining: 2)
            ),
            (
                "pending", "ach_debit",
                #""flow":"code_verification","verification":{"status":"failed","attempts_remaining":0}"#,
                .wait
            ),
            (
                "pending", "wechat", #""flow":"none","wechat":{"qr_code_url":"weixin://q"}"#,
                .scan(code: "weixin://q", nativeURL: nil)
            ),
            ("chargeable", "card", #""flow":"none""#, .charge),
            ("consumed", "card", #""flow":"none""#, .nothing),
            ("failed", "ideal", #""flow":"redirect",\#(redirect)"failed"}"#, .nothing),
            ("canceled", "ideal", "", .nothing),
            ("paused_by_bank", "ideal", #""flow":"redirect""#, .wait),
        ]
    )
    func nextStep(status: String, type: String, more: String, step: SourceNextStep) {
        #expect(Source.test(status, type: type, more).nextStep == step)
    }
}
