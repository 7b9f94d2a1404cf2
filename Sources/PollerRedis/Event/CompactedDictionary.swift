/// The Zstandard dictionary of ``CompactedEvents``: ``text`` follows that of ``EventDictionary``.
///
/// It has the consecutive summaries of a card's intent and of a source that are paid. It is part of the stored format,
/// so it never changes. A better one gets a mark of its own.
enum CompactedDictionary {
    /// The head, made like that of ``EventDictionary``, from the summaries of 2,485 watches.
    static let head =
        ""
        + "N6Qw7J9otzUxELAmyXAwDMMwDMMwDMPAE9SnJ6JmAy8lwsMGAYynBHgJ8VJmCSmTJDIliXgURRFYAVME"
        + "AAAAAEfD57zQBgAEgICAAhkIZGgUiBQIaAwADABkcAgAAAAAEABkAAAAAGAAAAAKGzOeUGGobgAAAITW"
        + "SgxAMQAAAADAAQDAAAAAAAAAAQAAAAQAAAAIAAAA"

    static let text = #"""
        {"id":"0","type":"payment_intent.requires_action","account":"","source":"",\#
        "kind":"payment_intent","order":"","seq":1,"run":1,"previous_status":null,\#
        "status":"requires_action","final":false,"closed_reason":null,\#
        "payment":{"state":"awaiting_customer","amount":2000,"amount_received":0,\#
        "currency":"eur","method":"card"},"livemode":true,"object":null,\#
        "observed":{"polled_at":"2026-11-25T20:00:00.000Z","lag_ms":0}}
        {"id":"0",\#
        "type":"payment.paid","account":"","source":"","kind":"payment_intent","order":"",\#
        "seq":2,"run":1,"previous_status":"requires_action","status":"requires_action",\#
        "final":false,"closed_reason":null,"payment":{"state":"paid","amount":2000,\#
        "amount_received":2000,"currency":"eur","method":"card",\#
        "paid_at":"2026-11-25T20:00:00.000Z"},"livemode":true,"object":null,\#
        "observed":{"polled_at":"2026-11-25T20:00:00.000Z","lag_ms":0}}
        {"id":"0",\#
        "type":"payment_intent.succeeded","account":"","source":"","kind":"payment_intent",\#
        "order":"","seq":3,"run":1,"previous_status":"requires_action","status":"succeeded",\#
        "final":true,"closed_reason":"settled","payment":{"state":"paid","amount":2000,\#
        "amount_received":2000,"currency":"eur","method":"card",\#
        "paid_at":"2026-11-25T20:00:00.000Z"},"livemode":true,"object":null,\#
        "observed":{"polled_at":"2026-11-25T20:00:00.000Z","lag_ms":0}}
        {"id":"0",\#
        "type":"source.pending","account":"","source":"","kind":"source","seq":1,"run":1,\#
        "previous_status":null,"status":"pending","final":false,"closed_reason":null,\#
        "payment":{"state":"awaiting_customer","amount":1099,"amount_received":0,\#
        "currency":"eur","method":"ideal"},"livemode":false,"object":null,\#
        "observed":{"polled_at":"2026-11-25T20:00:00.000Z","lag_ms":4}}
        {"id":"0",\#
        "type":"payment.authorised","account":"","source":"","kind":"source","seq":2,"run":1,\#
        "previous_status":"pending","status":"pending","final":false,"closed_reason":null,\#
        "payment":{"state":"authorised","amount":1099,"amount_received":0,"currency":"eur",\#
        "method":"ideal"},"livemode":false,"object":null,\#
        "observed":{"polled_at":"2026-11-25T20:00:00.000Z","lag_ms":2}}
        {"id":"0",\#
        "type":"source.chargeable","account":"","source":"","kind":"source","seq":3,"run":1,\#
        "previous_status":"pending","status":"chargeable","final":false,"closed_reason":null,\#
        "payment":{"state":"authorised","amount":1099,"amount_received":0,"currency":"eur",\#
        "method":"ideal"},"livemode":false,"object":null,\#
        "observed":{"polled_at":"2026-11-25T20:00:00.000Z","lag_ms":2}}
        {"id":"0",\#
        "type":"payment.paid","account":"","source":"","kind":"source","seq":4,"run":1,\#
        "previous_status":"chargeable","status":"chargeable","final":false,\#
        "closed_reason":null,"payment":{"state":"paid","amount":1099,"amount_received":1099,\#
        "currency":"eur","method":"ideal","paid_at":"2026-11-25T20:00:00.000Z"},\#
        "livemode":false,"object":null,"observed":{"polled_at":"2026-11-25T20:00:00.000Z",\#
        "lag_ms":11}}
        {"id":"0","type":"source.consumed","account":"","source":"",\#
        "kind":"source","seq":5,"run":1,"previous_status":"chargeable","status":"consumed",\#
        "final":true,"closed_reason":"settled","payment":{"state":"paid","amount":1099,\#
        "amount_received":1099,"currency":"eur","method":"ideal",\#
        "paid_at":"2026-11-25T20:00:00.000Z"},"livemode":false,"object":null,\#
        "observed":{"polled_at":"2026-11-25T20:00:00.000Z","lag_ms":11}}
        """#
}
