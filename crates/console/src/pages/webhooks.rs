//! Webhooks: who is told, what became of it, and sending again.
